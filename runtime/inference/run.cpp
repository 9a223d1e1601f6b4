#include "run.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>
#include <octet/runtime/system.h>

#include "lookup.h"
#include "partitions.h"
#include "pixel_pairs.h"
#include "tensor/arena.h"

namespace octet::inference {
namespace {

using autograd::ExpressionEvaluator;
using autograd::GemmType;
using autograd::OutputKind;
using kernels::StorageFormat;

// Maps a row of `pixels` pixels of c values. `zero` is the index of q = 0.
template <class In, class Out>
void look_up(const Out* table, const char* from, int64_t from_pixel, char* to,
             int64_t to_pixel, int64_t pixels, int64_t c, int zero) {
  const In* x = reinterpret_cast<const In*>(from);
  Out* y = reinterpret_cast<Out*>(to);
  for (int64_t i = 0; i < pixels; ++i, x += from_pixel, y += to_pixel) {
    if constexpr (sizeof(In) == 1 && sizeof(Out) == 1) {
      kernels::table().look_up(table, x, y, c);
    } else {
      for (int64_t k = 0; k < c; ++k) {
        y[k] = table[static_cast<uint8_t>(x[k] + zero)];
      }
    }
  }
}

}  // namespace

Run::Run(const Program::Plan& plan, int64_t n, LastingValues::Values lasting)
    : plan_(plan),
      n_(n),
      memory_(plan.workspaces->take(floats_of(plan, n), plan.storages.size())),
      lasting_(std::move(lasting)),
      nan_(lasting_.nan) {
  block_at_ = static_cast<char*>(memory_.block.raw());
  for (const int id : plan.constants) bind(id, storage(id).constant);
  if (lasting_.block.empty()) return;
  lasting_at_ = static_cast<char*>(lasting_.block.raw());
  for (size_t i = 0; i < plan.storages.size(); ++i) {
    const Storage& s = plan.storages[i];
    if (!s.lasting || !s.tensor || s.alias >= 0) continue;
    bind_part(static_cast<int>(i), lasting_.block, lasting_.samples);
  }
}

void Run::step(const Step& step) {
  if (const auto* fused = std::get_if<FusedStep>(&step.what)) {
    run(*fused);
  } else if (const auto* evaluation = std::get_if<EvaluateStep>(&step.what)) {
    run(*evaluation);
  } else if (const auto* pool = std::get_if<PoolStep>(&step.what)) {
    run(*pool);
  } else if (const auto* table = std::get_if<TableStep>(&step.what)) {
    run(*table);
  } else if (const auto* op = std::get_if<OpStep>(&step.what)) {
    run(*op);
  } else {
    run(std::get<CallStep>(step.what), step.name);
  }
  for (const int gone : step.gone) bind(gone, {});
}

Tensor Run::values_of(int id) {
  const Storage& s = storage(id);
  if (s.form != StorageFormat::values && s.form != StorageFormat::real) {
    return {};
  }
  Tensor values(Shape{n_, s.h, s.w, s.c});
  float* to = values.f32().data();
  for (int64_t row = 0; row < n_ * s.h; ++row) {
    const char* from = row_of(id, row / s.h, row % s.h);
    for (int64_t x = 0; x < s.w; ++x, to += s.c) {
      std::memcpy(to, from + x * s.pixel * s.element,
                  static_cast<size_t>(s.c) * sizeof(float));
    }
  }
  return values;
}

void Run::pad(int id, int64_t image, int64_t first, int64_t last) {
  const Storage& s = storage(id);
  if (!s.padded() || s.channel > 0) return;
  const int zero = s.form == StorageFormat::bytes ? s.zero_byte : 0;
  const auto clear = [&](char* from, int64_t elements) {
    std::memset(from, zero, static_cast<size_t>(elements * s.element));
  };
  char* at = image_of(id, image);
  if (first == 0) clear(at, s.pads.top * s.row);
  for (int64_t row = first; row < last; ++row) {
    char* line = at + (s.pads.top + row) * s.row * s.element;
    clear(line, s.pads.left * s.pixel);
    clear(line + (s.pads.left + s.w) * s.pixel * s.element,
          s.pads.right * s.pixel);
  }
  if (last == s.h) {
    clear(at + (s.pads.top + s.h) * s.row * s.element, s.pads.bottom * s.row);
  }
}

void Run::run(const FusedStep& step, const Part& part) {
  const auto place = [&](int id, int64_t rows = 1) {
    const Storage& s = storage(id);
    return step.flat ? image_of(id, 0) + part.first * s.pixel * s.element
                     : row_of(id, part.image, part.first * rows);
  };
  kernels::FusedEpilogue fused = step.fused;
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    if (part.first_channel == 0) {
      pad(step.outputs[i], part.image, part.first, part.last);
    }
    fused.outputs[i].to = place(step.outputs[i]);
  }
  if (step.other >= 0) fused.other = place(step.other, step.other_every.h);
  bool nan = false;
  fused.nan = &nan;
  kernels::Epilogue epilogue;
  epilogue.fused = &fused;
  const LinearCall& linear = step.linear;
  if (!linear.rescale.empty()) epilogue.rescale = linear.rescale.f32().data();

  const bool codes = linear.factor == GemmType::codes;
  const Storage& x = storage(step.x);
  const char* from = place(step.x);
  if (!step.flat) {
    const int64_t unit =
        codes ? static_cast<int64_t>(sizeof(kernels::CodeWord)) : x.element;
    from = image_of(step.x, part.image) +
           ((x.pads.top - step.pads.top) * x.row +
            (x.pads.left - step.pads.left) * x.pixel) *
               x.element +
           part.first / step.upsampling * step.windows.line * unit;
  }
  const int64_t count = part.last - part.first;
  const OutputTile outputs{.rows = step.flat ? 1 : count,
                           .cols = step.flat ? count : step.cols,
                           .first = part.first_channel,
                           .last = part.last_channel};
  if (step.pairs) {
    multiply_pairs(step, reinterpret_cast<const kernels::CodeWord*>(from),
                   outputs, epilogue);
  } else if (codes) {
    linear.kernels->multiply_quantized(
        step.windows, reinterpret_cast<const kernels::CodeWord*>(from), outputs,
        linear.weight.panels, epilogue);
  } else {
    linear.kernels->multiply(step.windows, reinterpret_cast<const float*>(from),
                             outputs, linear.weight.panels, epilogue);
  }
  if (nan) nan_ = true;
}

// With few pixels, threads split channels: each reads its part of the weights.
int64_t Run::channel_parts(const FusedStep& step, int64_t pixels) const {
  constexpr int64_t kFew = 64;
  const int64_t threads = available_threads();
  const int64_t panels = step.channels / plan_.table->codes.panel;
  if (pixels > kFew * threads || !step.linear.kernels->splits_channels() ||
      panels < threads) {
    return 1;
  }
  return threads;
}

void Run::run(const FusedStep& step) {
  for (const int input : {step.x, step.other}) {
    if (input >= 0) (void)tensor(input);
  }
  for (const int output : step.outputs) prepare(output);
  const int64_t pixels = n_ * step.rows * step.cols;
  const int64_t images = step.flat ? 1 : n_;
  const int64_t rows = step.flat ? pixels : step.rows;
  const int64_t by_channel = channel_parts(step, pixels);
  const int64_t windows = (rows + step.upsampling - 1) / step.upsampling;
  const int64_t bands = by_channel == 1 ? band_count(images, windows) : 1;
  const int64_t panel = plan_.table->codes.panel;
  const int64_t panels = (step.channels + panel - 1) / panel;
  parallel_for(images * bands * by_channel, [&](int64_t i) {
    const int64_t c = i % by_channel;
    const int64_t band = i / by_channel % bands;
    const auto edge = [&](int64_t at) {
      return std::min(rows, windows * at / bands * step.upsampling);
    };
    run(step, {.image = i / by_channel / bands,
               .first = edge(band),
               .last = edge(band + 1),
               .first_channel = panels * c / by_channel * panel,
               .last_channel = std::min(
                   step.channels, panels * (c + 1) / by_channel * panel)});
  });
}

// Evaluates rows into part of the channels.
void Run::store_slice(const ExpressionEvaluator& consumer,
                      const ExpressionEvaluator::ImageRows& rows, int output) {
  const Storage& s = storage(output);
  const bool packed =
      s.form == StorageFormat::bytes || s.form == StorageFormat::shorts;
  const kernels::CodeTable& table = plan_.table->codes_in(s.form);
  const int64_t width =
      packed ? table.words(s.c) * int64_t{sizeof(kernels::CodeWord)}
             : s.c * s.element;
  float* const line =
      arena::scratch(0, s.w * width / static_cast<int64_t>(sizeof(float)));
  pad(output, rows.image, rows.first, rows.last);
  for (int64_t row = rows.first; row < rows.last; ++row) {
    const ExpressionEvaluator::ImageRows one{rows.image, row, row + 1};
    if (!packed) {
      consumer.read(one, {}, line);
    } else if (!consumer.read_codes(
                   one, {}, table,
                   reinterpret_cast<kernels::CodeWord*>(line))) {
      nan_ = true;
    }
    const char* from = reinterpret_cast<const char*>(line);
    char* to = row_of(output, rows.image, row);
    for (int64_t i = 0; i < s.w; ++i, from += width) {
      std::memcpy(to, from, static_cast<size_t>(s.c * s.element));
      to += s.pixel * s.element;
    }
  }
}

// Evaluates rows into rows of an image from `row` on.
void Run::store(const ExpressionEvaluator& consumer,
                const ExpressionEvaluator::ImageRows& rows, int output,
                int64_t image, int64_t row) {
  const Storage& s = storage(output);
  if (s.slice_of >= 0) return store_slice(consumer, rows, output);
  Pads pads = s.pads;
  char* to = image_of(output, image);
  if (row > 0) {
    to += (pads.top + row) * s.row * s.element;
    pads.top = 0;
  }
  if (row + rows.last - rows.first < s.h) pads.bottom = 0;
  if (s.form != StorageFormat::bytes && s.form != StorageFormat::shorts) {
    consumer.read(rows, pads, reinterpret_cast<float*>(to));
  } else if (!consumer.read_codes(rows, pads, plan_.table->codes_in(s.form),
                                  reinterpret_cast<kernels::CodeWord*>(to))) {
    nan_ = true;
  }
}

void Run::run(const EvaluateStep& step) {
  prepare(step.output);
  autograd::Expression e = step.e;
  e.shape = e.shape.with(0, n_);
  e.first.t = tensor(step.first);
  if (e.second) e.second->t = tensor(step.second);
  if (step.function) {
    prepare(step.scratch);
    e = activated(e, *step.function, bound(step.scratch));
  }
  const Storage& s = storage(step.output);
  const OutputKind form = s.form == StorageFormat::float_codes
                              ? OutputKind::codes
                              : OutputKind::real;
  std::optional<ExpressionEvaluator> consumer;
  if (step.multiplier < 0) consumer.emplace(e, form);
  const int64_t bands = band_count(n_, s.h);
  parallel_for(n_ * bands, [&](int64_t i) {
    const int64_t band = i % bands;
    const ExpressionEvaluator::ImageRows rows{i / bands, s.h * band / bands,
                                              s.h * (band + 1) / bands};
    if (consumer) {
      store(*consumer, rows, step.output, rows.image, rows.first);
    } else {
      autograd::Expression product = e;
      product.first.a = tensor(step.multiplier).slice(rows.image, 1);
      store(ExpressionEvaluator(product, form), rows, step.output, rows.image,
            rows.first);
    }
  });
}

void Run::run(const PoolStep& step) {
  prepare(step.output);
  const int64_t rows = storage(step.output).h;
  const int64_t bands = band_count(n_, rows);
  parallel_for(n_ * bands, [&](int64_t i) {
    const int64_t image = i / bands, band = i % bands;
    const int64_t first = rows * band / bands;
    const int64_t last = rows * (band + 1) / bands;
    pad(step.output, image, first, last);
    std::visit([&](const auto& kind) { pool(kind, step, image, first, last); },
               step.kind);
  });
}

void Run::pool(const kernels::MaxPool& sizes, const PoolStep& step,
               int64_t image, int64_t first, int64_t last) {
  const Storage& x = storage(step.x);
  const Storage& y = storage(step.output);
  kernels::CodePool call;
  call.sizes = sizes;
  call.sizes.c = y.slice_of < 0 ? y.pixel : y.c;
  call.pixel = x.pixel;
  call.image =
      image_of(step.x, image) + ((x.pads.top - step.pads.top) * x.row +
                                 (x.pads.left - step.pads.left) * x.pixel) *
                                    x.element;
  call.line = x.row;
  call.first = first;
  call.last = last;
  call.out = row_of(step.output, image, first);
  call.out_pixel = y.pixel;
  call.out_line = y.row;
  plan_.table->codes_in(x.form).max_pool(call);
}

void Run::pool(const NearestPixels& pixels, const PoolStep& step, int64_t image,
               int64_t first, int64_t last) {
  const Storage& x = storage(step.x);
  const Storage& y = storage(step.output);
  const auto size = static_cast<size_t>(y.c * y.element);
  for (int64_t row = first; row < last; ++row) {
    const char* from =
        row_of(step.x, image, pixels.rows[static_cast<size_t>(row)]);
    char* to = row_of(step.output, image, row);
    for (const int64_t col : pixels.cols) {
      std::memcpy(to, from + col * x.pixel * x.element, size);
      to += y.pixel * y.element;
    }
  }
}

void Run::run(const TableStep& step) {
  prepare(step.output);
  const Storage& x = storage(step.x);
  const Storage& y = storage(step.output);
  const int64_t bands = band_count(n_, y.h);
  // A row at once, with the channels that fill words. A slice has neighbors.
  const bool rows = x.pixel == y.pixel && y.slice_of < 0;
  const int64_t pixels = rows ? 1 : y.w;
  const int64_t channels = rows ? y.w * y.pixel : y.c;
  const auto map_rows = [&]<class In, class Out>(In, Out, int zero) {
    const Out* table = reinterpret_cast<const Out*>(step.table.data());
    parallel_for(n_ * bands, [&](int64_t i) {
      const int64_t image = i / bands, band = i % bands;
      const int64_t first = y.h * band / bands, last = y.h * (band + 1) / bands;
      pad(step.output, image, first, last);
      for (int64_t row = first; row < last; ++row) {
        look_up<In, Out>(table, row_of(step.x, image, row), x.pixel,
                         row_of(step.output, image, row), y.pixel, pixels,
                         channels, zero);
      }
    });
  };
  const auto from = [&](auto in, int zero) {
    if (y.form == StorageFormat::bytes) return map_rows(in, uint8_t{}, zero);
    if (y.form == StorageFormat::shorts) return map_rows(in, int16_t{}, zero);
    map_rows(in, float{}, zero);
  };
  if (x.form == StorageFormat::bytes) {
    from(uint8_t{}, 0);
  } else {
    from(int16_t{}, x.zero_byte);
  }
}

void Run::run(const OpStep& step) {
  prepare(step.output);
  std::vector<Tensor>& inputs = memory_.arguments;
  inputs.clear();
  for (const int input : step.inputs) inputs.push_back(tensor(input));
  std::optional<arena::StepMemory> scratch;
  if (step.scratch >= 0) {
    prepare(step.scratch);
    scratch.emplace(image_of(step.scratch, 0),
                    storage(step.scratch).bytes() * n_);
  }
  step.forward(inputs, bound(step.output));
}

void Run::run(const CallStep& step, const std::string& name) {
  std::vector<Variable> inputs;
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const Tensor& t = tensor(step.inputs[i]);
    autograd::Expression e = step.forms[i];
    e.shape = t.shape();
    e.first.t = t;
    inputs.push_back(e.plain() ? Variable(t)
                               : autograd::wrap("stored", std::move(e)));
  }
  const LayerScope scope(name);
  const Variable result = step.layer.function(inputs);
  const Tensor y = step.layer.affine
                       ? autograd::expression_of(result).first.t.read()
                       : result.value();
  const Shape expected = storage(step.output).shape.with(0, n_);
  if (y.shape() != expected) {
    throw ShapeError("shape_mismatch", fmt::format("'{}'", name),
                     fmt::format("output shape must be {} as for one sample, "
                                 "got {}",
                                 expected.to_string(), y.shape().to_string()));
  }
  bind(step.output, y);
}

}  // namespace octet::inference
