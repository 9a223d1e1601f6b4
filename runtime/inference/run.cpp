#include "run.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/diagnostics.h>
#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>

#include "../arena.h"
#include "../partitions.h"

namespace octet::inference {
namespace {

using autograd::ExpressionEvaluator;
using autograd::GemmType;
using autograd::OutputKind;
using kernels::StorageFormat;

// Returns f(e) with the quantization parameters of e, in `values`.
autograd::Expression activated(autograd::Expression e,
                               const kernels::Activation& f, Tensor& values) {
  const QuantParams qparams = std::exchange(e.qparams, {});
  float* to = values.f32().data();
  const ExpressionEvaluator reader(e, OutputKind::real);
  const int64_t c = reader.images().c;
  parallel_chunks(values.size() / c, [&](int64_t first, int64_t last, int64_t) {
    reader.read_pixels(first, last, to + first * c);
  });
  parallel_chunks(values.size(), [&](int64_t first, int64_t last, int64_t) {
    kernels::Activation call = f;
    call.x = to + first;
    call.out = to + first;
    call.n = last - first;
    kernels::table().activate(call);
  });
  autograd::Expression result = autograd::expression_of(values, nullptr);
  result.qparams = qparams;
  return result;
}

}  // namespace

void Run::step(const Step& step) {
  if (const auto* fused = std::get_if<FusedStep>(&step.what)) {
    run(*fused);
  } else if (const auto* evaluation = std::get_if<EvaluateStep>(&step.what)) {
    run(*evaluation);
  } else if (const auto* pool = std::get_if<PoolStep>(&step.what)) {
    run(*pool);
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
  if (!s.padded()) return;
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
           part.first * step.windows.line * unit;
  }
  const int64_t count = part.last - part.first;
  const OutputTile outputs{.rows = step.flat ? 1 : count,
                           .cols = step.flat ? count : step.cols,
                           .first = part.first_channel,
                           .last = part.last_channel};
  if (codes) {
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
  const int64_t bands = by_channel == 1 ? band_count(images, rows) : 1;
  const int64_t panel = plan_.table->codes.panel;
  const int64_t panels = (step.channels + panel - 1) / panel;
  parallel_for(images * bands * by_channel, [&](int64_t i) {
    const int64_t c = i % by_channel;
    const int64_t band = i / by_channel % bands;
    run(step, {.image = i / by_channel / bands,
               .first = rows * band / bands,
               .last = rows * (band + 1) / bands,
               .first_channel = panels * c / by_channel * panel,
               .last_channel = std::min(
                   step.channels, panels * (c + 1) / by_channel * panel)});
  });
}

// Evaluates rows into rows of an image from `row` on.
void Run::store(const ExpressionEvaluator& consumer,
                const ExpressionEvaluator::ImageRows& rows, int output,
                int64_t image, int64_t row) {
  const Storage& s = storage(output);
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
    e = activated(e, *step.function,
                  tensors_[static_cast<size_t>(step.scratch)]);
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
  const Storage& x = storage(step.x);
  const Storage& y = storage(step.output);
  const int64_t bands = band_count(n_, y.h);
  parallel_for(n_ * bands, [&](int64_t i) {
    const int64_t image = i / bands, band = i % bands;
    kernels::CodePool call;
    call.sizes = step.sizes;
    call.sizes.c = x.pixel;
    call.image =
        image_of(step.x, image) + ((x.pads.top - step.pads.top) * x.row +
                                   (x.pads.left - step.pads.left) * x.pixel) *
                                      x.element;
    call.line = x.row;
    call.first = y.h * band / bands;
    call.last = y.h * (band + 1) / bands;
    call.out = row_of(step.output, image, call.first);
    call.out_line = y.row;
    pad(step.output, image, call.first, call.last);
    plan_.table->codes_in(x.form).max_pool(call);
  });
}

void Run::run(const OpStep& step) {
  prepare(step.output);
  std::vector<Tensor> inputs;
  for (const int input : step.inputs) inputs.push_back(tensor(input));
  std::optional<arena::StepMemory> scratch;
  if (step.scratch >= 0) {
    prepare(step.scratch);
    scratch.emplace(image_of(step.scratch, 0),
                    storage(step.scratch).bytes() * n_);
  }
  step.forward(inputs, tensors_[static_cast<size_t>(step.output)]);
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
