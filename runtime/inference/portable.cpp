#include "portable.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

namespace octet::detail {
namespace {

thread_local ProgramRecorder* recorder_of_thread = nullptr;

}  // namespace

ProgramRecorder::ProgramRecorder()
    : before_(std::exchange(recorder_of_thread, this)) {}
ProgramRecorder::~ProgramRecorder() { recorder_of_thread = before_; }

ProgramRecorder* active_recorder() { return recorder_of_thread; }

}  // namespace octet::detail

namespace octet::inference {
namespace {

using autograd::kInfinity;
using detail::PortableBuffer;
using detail::PortableEpilogue;
using detail::PortableEvaluate;
using detail::PortableImageSum;
using detail::PortableLinear;
using detail::PortableNearest;
using detail::PortablePool;
using detail::PortableProgram;
using detail::PortableQuant;
using detail::PortableRelu;
using detail::PortableSize;
using detail::PortableSoftmax;
using detail::PortableStep;
using detail::PortableTable;
using detail::PortableUnknown;
using kernels::StorageFormat;

using AnyPortable = decltype(PortableStep::what);

std::vector<float> values_of(const Tensor& t) {
  if (t.empty()) return {};
  return {t.f32().begin(), t.f32().end()};
}

// Factors; empty if all are 1.
std::vector<float> factors_of(const Tensor& t) {
  std::vector<float> values = values_of(t);
  const auto is_one = [](float v) { return v == 1; };
  if (std::ranges::all_of(values, is_one)) values.clear();
  return values;
}

std::optional<PortableQuant> quant_of(const QuantParams& qparams) {
  if (qparams.empty()) return std::nullopt;
  return PortableQuant{qparams.scale.item(), qparams.low, qparams.high};
}

std::optional<std::pair<float, float>> clip_of(float low, float high) {
  if (low == -kInfinity && high == kInfinity) return std::nullopt;
  return std::pair(low, high);
}

PortableSize size_of(const Size2& size) { return {size.h, size.w}; }

std::string unsupported_function(kernels::Function function) {
  using kernels::Function;
  switch (function) {
    case Function::elu:
      return "activation elu";
    case Function::exponential:
      return "activation exponential";
    case Function::gelu:
    case Function::gelu_tanh:
      return "activation gelu";
    case Function::hard_sigmoid:
      return "activation hard_sigmoid";
    case Function::hard_swish:
      return "activation hard_swish";
    case Function::relu:
      return "activation leaky_relu";
    case Function::sigmoid:
      return "activation sigmoid";
    case Function::softplus:
      return "activation softplus";
    case Function::softsign:
      return "activation softsign";
    case Function::swish:
      return "activation swish";
    case Function::tanh:
      return "activation tanh";
  }
  return "activation";
}

class PlanConverter {
 public:
  explicit PlanConverter(const Program::Plan& plan)
      : plan_(plan), buffers_(plan.storages.size(), -1) {}

  PortableProgram run() {
    for (const int input : plan_.inputs) {
      result_.inputs.push_back(buffer(input));
    }
    for (const Step& step : plan_.steps) {
      AnyPortable what = std::visit(
          [&](const auto& kind) { return convert(kind, step); }, step.what);
      const auto* unknown = std::get_if<PortableUnknown>(&what);
      if (unknown != nullptr && unknown->reason.empty()) continue;  // constant
      result_.steps.push_back({step.name, step.op, std::move(what)});
    }
    for (const int output : plan_.outputs) {
      result_.outputs.push_back(buffer(output));
    }
    return std::move(result_);
  }

 private:
  const Storage& storage(int id) const { return at(plan_.storages, id); }

  // Storages of a value differ in formats only; they are one buffer.
  int buffer(int id) {
    if (id < 0) return -1;
    int& known = at(buffers_, id);
    if (known >= 0) return known;
    const Storage& s = storage(id);
    const int alias = s.alias >= 0 ? buffer(s.alias) : -1;
    const int slice_of = s.slice_of >= 0 ? buffer(s.slice_of) : -1;
    const auto key =
        std::tuple(s.value, slice_of, s.channel, s.every.h, s.every.w);
    if (const auto found = by_value_.find(key);
        s.value >= 0 && found != by_value_.end()) {
      return known = found->second;
    }
    PortableBuffer made{.h = s.h,
                        .w = s.w,
                        .c = s.c,
                        .quant = quant_of(s.qparams),
                        .alias = alias,
                        .slice_of = slice_of,
                        .channel = s.channel,
                        .constant = values_of(s.constant)};
    if (alias >= 0) made.quant = at(result_.buffers, alias).quant;
    known = static_cast<int>(result_.buffers.size());
    result_.buffers.push_back(std::move(made));
    by_value_[key] = known;
    return known;
  }

  AnyPortable convert(const FusedStep& step, const Step& /*whole*/) {
    const auto window = step.linear.kernels->convolution();
    if (!window) return PortableUnknown{"transposed convolution"};
    const Storage& x = storage(step.x);
    const Storage& y = storage(step.outputs[0]);
    PortableLinear linear = linear_of(step.linear, *window);
    linear.x = buffer(step.x);
    linear.strides = {window->strides.h * y.every.h / x.every.h,
                      window->strides.w * y.every.w / x.every.w};
    linear.top = step.pads.top;
    linear.left = step.pads.left;
    const int64_t all = autograd::ImageShape(y.shape).size() / y.c;
    linear.multiply_adds =
        step.linear.multiply_adds / all * step.rows * step.cols;

    const kernels::FusedEpilogue& f = step.fused;
    PortableEpilogue& e = linear.epilogue;
    if (f.terms > 0) {
      e.a = factors_of(step.a);
      e.b = values_of(step.b);
      if (f.clips) e.clip = clip_of(f.low, f.high);
    }
    if (f.terms == 2) {
      if (f.clips2) e.clip2 = clip_of(f.low2, f.high2);
      if (f.quantize2) {
        e.quant2 = {f.scale2, static_cast<int>(f.code_low2),
                    static_cast<int>(f.code_high2)};
      }
      e.other = buffer(step.other);
      e.other_every = size_of(step.other_every);
      e.other_plus_zero = (f.other_form == StorageFormat::values ||
                           f.other_form == StorageFormat::real) &&
                          !std::signbit(f.other_zero);
    }
    if (f.activate != nullptr) {
      if (f.function.function != kernels::Function::relu) {
        return PortableUnknown{unsupported_function(f.function.function)};
      }
      e.function = relu_of(f.function);
    }
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      add_output(e, buffer(step.outputs[i]),
                 static_cast<int>(f.outputs[i].code_low),
                 static_cast<int>(f.outputs[i].code_high));
    }
    return linear;
  }

  static PortableRelu relu_of(const kernels::Activation& f) {
    return {f.alpha, f.beta, f.gamma};
  }

  static PortableLinear linear_of(const LinearCall& call,
                                  const LinearKernels::Convolution& window) {
    PortableLinear linear;
    linear.kernel = size_of(window.size);
    linear.strides = size_of(window.strides);
    linear.dilation = size_of(window.dilation);
    linear.groups = window.groups;
    linear.weights = values_of(call.multiplied);
    linear.rescale = values_of(call.rescale);
    // A scale may apply to several adjacent channels.
    const std::vector<float> scales = values_of(call.weight_scale);
    const auto channels = static_cast<size_t>(call.kernels->output[-1]);
    for (size_t k = 0; k < channels && !scales.empty(); ++k) {
      linear.weight_scales.push_back(scales[k * scales.size() / channels]);
    }
    linear.multiply_adds = call.multiply_adds;
    return linear;
  }

  static void add_output(PortableEpilogue& e, int y, int low, int high) {
    const bool known = std::ranges::any_of(
        e.outputs, [y](const PortableEpilogue::Output& o) { return o.y == y; });
    if (!known) e.outputs.push_back({y, low, high});
  }

  AnyPortable convert(const EvaluateStep& step, const Step& /*whole*/) {
    PortableEvaluate evaluate;
    PortableEpilogue& e = evaluate.epilogue;
    const autograd::Term& first = step.e.first;
    if (!step.e.second) {
      evaluate.x = buffer(step.first);
      e.a = factors_of(first.a);
      e.b = values_of(first.b);
    } else {
      const autograd::Term& second = *step.e.second;
      evaluate.x = buffer(step.second);
      e.a = factors_of(second.a);
      e.b = values_of(second.b);
      e.clip2 = clip_of(second.low, second.high);
      e.quant2 = quant_of(second.qparams);
      e.other = buffer(step.first);
      e.other_a = factors_of(first.a);
      e.other_b = values_of(first.b);
    }
    e.clip = clip_of(step.e.low, step.e.high);
    evaluate.multiplier = buffer(step.multiplier);
    if (step.function) {
      if (step.function->function != kernels::Function::relu) {
        return PortableUnknown{unsupported_function(step.function->function)};
      }
      e.function = relu_of(*step.function);
    }
    add_output(e, buffer(step.output), step.e.qparams.low, step.e.qparams.high);
    return evaluate;
  }

  PortablePool pool_of(const kernels::MaxPool& sizes, const Pads& zeros) {
    return {.kernel = {sizes.kh, sizes.kw},
            .strides = {sizes.stride_h, sizes.stride_w},
            .dilation = {sizes.dilation_h, sizes.dilation_w},
            .top = sizes.top,
            .left = sizes.left,
            .zeros_top = zeros.top,
            .zeros_bottom = zeros.bottom,
            .zeros_left = zeros.left,
            .zeros_right = zeros.right};
  }

  AnyPortable convert(const PoolStep& step, const Step& /*whole*/) {
    if (const auto* pixels = std::get_if<NearestPixels>(&step.kind)) {
      return PortableNearest{buffer(step.x), buffer(step.output), pixels->rows,
                             pixels->cols};
    }
    PortablePool pool =
        pool_of(std::get<kernels::MaxPool>(step.kind), step.pads);
    pool.x = buffer(step.x);
    pool.y = buffer(step.output);
    return pool;
  }

  AnyPortable convert(const TableStep& step, const Step& /*whole*/) {
    const Storage& x = storage(step.x);
    const Storage& y = storage(step.output);
    PortableTable table{buffer(step.x), buffer(step.output), {}};
    for (int q = x.qparams.low; q <= x.qparams.high; ++q) {
      const auto place = static_cast<size_t>((q + x.zero_byte) & 0xff);
      table.results.push_back(table_entry(step.table, place, y));
    }
    return table;
  }

  static float table_entry(std::span<const char> table, size_t place,
                           const Storage& y) {
    if (y.form == StorageFormat::bytes) {
      const auto byte = static_cast<uint8_t>(table[place]);
      return static_cast<float>(byte - y.zero_byte);
    }
    if (y.form == StorageFormat::shorts) {
      int16_t q = 0;
      std::memcpy(&q, table.data() + place * sizeof(q), sizeof(q));
      return q;
    }
    float value = 0;
    std::memcpy(&value, table.data() + place * sizeof(value), sizeof(value));
    return y.form == StorageFormat::real
               ? quantize(value, y.qparams.scale.item(), y.qparams.low,
                          y.qparams.high)
               : value;
  }

  AnyPortable convert(const OpStep& step, const Step& whole) {
    const auto refuse = [&] { return PortableUnknown{whole.op}; };
    if (const auto* value = std::get_if<Tensor>(&step.attributes)) {
      const int y = buffer(step.output);
      at(result_.buffers, y).constant = values_of(*value);
      return PortableUnknown{""};
    }
    if (step.inputs.size() != 1) return refuse();
    const int x = buffer(step.inputs[0]), y = buffer(step.output);
    if (const auto* max = std::get_if<kernels::MaxPool>(&step.attributes)) {
      PortablePool pool = pool_of(*max, {});
      pool.x = x;
      pool.y = y;
      return pool;
    }
    if (const auto* mean = std::get_if<AveragePool>(&step.attributes)) {
      return PortablePool{.maximum = false,
                          .x = x,
                          .y = y,
                          .kernel = {mean->kh, mean->kw},
                          .strides = {mean->stride_h, mean->stride_w},
                          .dilation = {},
                          .top = mean->top,
                          .left = mean->left};
    }
    if (const auto* sum = std::get_if<ImageSum>(&step.attributes)) {
      return PortableImageSum{x, y, sum->divisor};
    }
    if (const auto* pixels = std::get_if<NearestPixels>(&step.attributes)) {
      return PortableNearest{x, y, pixels->rows, pixels->cols};
    }
    if (const auto* softmax = std::get_if<SoftmaxAxis>(&step.attributes)) {
      if (softmax->axis + 1 != storage(step.output).shape.rank()) {
        return PortableUnknown{"softmax of an inner axis"};
      }
      return PortableSoftmax{x, y};
    }
    if (const auto* call = std::get_if<LinearCall>(&step.attributes)) {
      const auto window = call->kernels->convolution();
      if (!window) return refuse();
      PortableLinear linear = linear_of(*call, *window);
      linear.x = x;
      linear.top = call->kernels->padding().top;
      linear.left = call->kernels->padding().left;
      linear.epilogue.outputs.push_back({y, 0, 0});
      return linear;
    }
    return refuse();
  }

  AnyPortable convert(const CallStep& /*step*/, const Step& whole) {
    return PortableUnknown{whole.op == "call" ? "custom layer" : whole.op};
  }

  const Program::Plan& plan_;
  std::vector<int> buffers_;  // by storage
  std::map<std::tuple<int, int, int64_t, int64_t, int64_t>, int> by_value_;
  PortableProgram result_;
};

}  // namespace

PortableProgram portable(const Program::Plan& plan) {
  return PlanConverter(plan).run();
}

}  // namespace octet::inference
