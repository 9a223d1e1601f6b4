// Activation functions.
#include <cmath>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "lowering.h"

namespace octet::io::tflite {
namespace {

struct Function {
  std::string_view name;
  schema::Op op;
  int float_version;
  int int8_version;
  /// Output parameters of INT8 that the format prescribes; scale 0: free.
  Quant output{.scale = 0};
};
constexpr Function kFunctions[] = {
    {"relu", schema::Op::RELU, 1, 2},
    {"relu6", schema::Op::RELU6, 1, 2},
    {"sigmoid", schema::Op::LOGISTIC, 1, 2, {1.0f / 256, -128}},
    {"tanh", schema::Op::TANH, 1, 2, {1.0f / 128, 0}},
    {"softmax", schema::Op::SOFTMAX, 1, 2, {1.0f / 256, -128}},
    {"hard_silu", schema::Op::HARD_SWISH, 1, 1},
    {"hard_swish", schema::Op::HARD_SWISH, 1, 1},
    {"leaky_relu", schema::Op::LEAKY_RELU, 1, 2},
};

// The output with the parameters of the format, then those of the model.
Value add_function(Lowering& call, const Function& function,
                   schema::BuiltinOptionsUnion options) {
  const Value& x = call.inputs[0];
  std::optional<Quant> output = call.quant;
  if (x.quant && function.output.scale > 0) {
    output = x.quant->int16 ? Quant{1.0f / 32768, 0, true} : function.output;
  }
  // TensorFlow Lite Micro clips without a conversion of scales.
  if (x.quant && function.op == schema::Op::RELU6) output = x.quant;
  const bool converts = call.quant != output;
  const Value y = converts ? call.add_part("function", call.shape(), output)
                           : call.add_output();
  call.file.add_operator(
      function.op, x.quant ? function.int8_version : function.float_version,
      {x.tensor}, {y.tensor}, std::move(options));
  return converts ? requantized(call, y, *call.quant, "") : y;
}

template <class Options>
schema::BuiltinOptionsUnion in_union(Options options) {
  schema::BuiltinOptionsUnion result;
  result.Set(std::move(options));
  return result;
}

schema::BuiltinOptionsUnion options_of(const Function& function) {
  if (function.op == schema::Op::SOFTMAX) {
    schema::SoftmaxOptionsT options;
    options.beta = 1;
    return in_union(options);
  }
  if (function.op == schema::Op::HARD_SWISH) {
    return in_union(schema::HardSwishOptionsT());
  }
  if (function.op == schema::Op::LEAKY_RELU) {
    schema::LeakyReluOptionsT options;
    options.alpha = 0.2f;
    return in_union(options);
  }
  return {};
}

Value leaky_relu(Lowering& call, float slope) {
  schema::LeakyReluOptionsT options;
  options.alpha = slope;
  return add_function(call, kFunctions[std::size(kFunctions) - 1],
                      in_union(options));
}

// Slope of a ReLU that is a LeakyReLU; 0: another form.
float slope_of(const Lowering& call) {
  const Config* slope = call.option("negative_slope");
  const Config* most = call.option("max_value");
  const Config* threshold = call.option("threshold");
  const bool plain = (most == nullptr || most->is_null()) &&
                     (threshold == nullptr || threshold->as_number() == 0);
  return slope != nullptr && plain ? static_cast<float>(slope->as_number()) : 0;
}

}  // namespace

Value lower_activation(Lowering& call) {
  const std::string name = call.layer.facts().activation;
  if (name == "linear") {
    const Value& x = call.inputs[0];
    return call.quant ? requantized(call, x, *call.quant, "") : x;
  }
  for (const Function& function : kFunctions) {
    if (function.name != name) continue;
    return add_function(call, function, options_of(function));
  }
  const float slope = slope_of(call);
  if (slope > 0) return leaky_relu(call, slope);
  throw UnsupportedError(
      "unsupported_layer", call.layer.describe(),
      name.empty() ? "the function has no operator"
                   : fmt::format("function {} has no operator", name));
}

Value lower_softmax(Lowering& call) {
  if (call.layer.facts().activation != "softmax") {
    throw UnsupportedError("unsupported_layer", call.layer.describe(),
                           "SOFTMAX has the last axis only");
  }
  return lower_activation(call);
}

// Slopes are INT8 with the scale of their largest magnitude.
Value lower_prelu(Lowering& call) {
  const Value& x = call.inputs[0];
  const Tensor& alpha = call.layer.parameter("alpha").variable.value();
  const Value y = call.add_output();
  int slopes = -1;
  if (x.quant) {
    const float scale = scale_of_range(absmax(alpha), 127);
    const Tensor values = quantize(
        alpha,
        QuantParams{.scale = Tensor::scalar(scale), .low = -127, .high = 127});
    slopes = call.file.add_constant(call.part_name("alpha"), values,
                                    std::span(&scale, 1));
  } else {
    slopes = call.file.add_constant(call.part_name("alpha"), alpha);
  }
  call.file.add_operator(schema::Op::PRELU, 1, {x.tensor, slopes}, {y.tensor});
  return y;
}

}  // namespace octet::io::tflite
