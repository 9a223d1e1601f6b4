// Pools, merges and functions.
#include <algorithm>

#include <fmt/format.h>

#include "importer.h"

namespace octet::io::tflite {
namespace {

Config no_options() { return Config(Config::Object()); }

void convert_function(OperatorCall& call, std::string_view class_name,
                      const Config& config) {
  Importer& file = call.importer;
  file.set_value(call.output(),
                 file.add(class_name, config, {call.x()}, call.output()));
}

void convert_named(OperatorCall& call, const char* activation) {
  convert_function(call, "Activation", Config().set("activation", activation));
}

void convert_merge(OperatorCall& call, std::string_view class_name,
                   schema::Activation activation) {
  Importer& file = call.importer;
  std::vector<SymbolicTensor> inputs;
  for (size_t i = 0; i < call.op.inputs.size(); ++i) {
    if (file.is_constant(call.input(i))) {
      call.refuse("a constant operand has no layer");
    }
    inputs.push_back(call.x(i));
  }
  const SymbolicTensor y =
      file.add(class_name, no_options(), inputs, call.output());
  file.set_value(call.output(), file.activated(y, activation, call.output()));
}

void convert_reduction(OperatorCall& call, const char* operation) {
  const auto& o = call.options<schema::ReducerOptionsT>();
  Importer& file = call.importer;
  const int rank = call.x().shape().rank();
  Config::List axes;
  std::vector<int64_t> places;
  for (int64_t axis : file.integers(call.input(1))) {
    if (axis < 0) axis += rank;
    axes.emplace_back(axis);
    places.push_back(axis);
  }
  std::ranges::sort(places);
  if (std::string_view(operation) == "mean" && rank == 4 &&
      places == std::vector<int64_t>{1, 2}) {
    return convert_function(call, "GlobalAveragePooling2D",
                            Config().set("keepdims", o.keep_dims));
  }
  convert_function(call, "Reduce",
                   Config()
                       .set("operation", operation)
                       .set("axes", axes)
                       .set("keepdims", o.keep_dims));
}

}  // namespace

void convert_pool(OperatorCall& call) {
  const auto& o = call.options<schema::Pool2DOptionsT>();
  Importer& file = call.importer;
  Config config;
  config
      .set("pool_size", Config::List{int64_t{o.filter_h}, int64_t{o.filter_w}})
      .set("strides", Config::List{int64_t{o.stride_h}, int64_t{o.stride_w}})
      .set("padding", o.padding == schema::Padding::SAME ? "same" : "valid");
  const bool max = call.name.find("MAX_POOL") != std::string::npos;
  const Pads pads = file.pads(call.input(0));
  if (pads != Pads{}) {
    if (o.padding == schema::Padding::SAME) {
      call.refuse("PADV2 before SAME padding has no layer");
    }
    config.set("padding", Config::List{Config::List{pads.top, pads.bottom},
                                       Config::List{pads.left, pads.right}});
  }
  const SymbolicTensor y = file.add(max ? "MaxPooling2D" : "AveragePooling2D",
                                    config, {call.x()}, call.output());
  file.set_value(call.output(), file.activated(y, o.activation, call.output()));
}

void convert_mean(OperatorCall& call) { convert_reduction(call, "mean"); }
void convert_sum(OperatorCall& call) { convert_reduction(call, "sum"); }

void convert_add(OperatorCall& call) {
  convert_merge(call, "Add", call.options<schema::AddOptionsT>().activation);
}
void convert_sub(OperatorCall& call) {
  convert_merge(call, "Subtract",
                call.options<schema::SubOptionsT>().activation);
}
void convert_mul(OperatorCall& call) {
  convert_merge(call, "Multiply",
                call.options<schema::MulOptionsT>().activation);
}
void convert_maximum(OperatorCall& call) {
  convert_merge(call, "Maximum", schema::Activation::NONE);
}
void convert_minimum(OperatorCall& call) {
  convert_merge(call, "Minimum", schema::Activation::NONE);
}

void convert_matmul(OperatorCall& call) {
  const auto& o = call.options<schema::BatchMatMulOptionsT>();
  Importer& file = call.importer;
  file.set_value(
      call.output(),
      file.add("Matmul",
               Config().set("transpose_a", o.adj_x).set("transpose_b", o.adj_y),
               {call.x(0), call.x(1)}, call.output()));
}

void convert_concatenation(OperatorCall& call) {
  const auto& o = call.options<schema::ConcatenationOptionsT>();
  Importer& file = call.importer;
  std::vector<SymbolicTensor> inputs;
  for (size_t i = 0; i < call.op.inputs.size(); ++i) {
    inputs.push_back(call.x(i));
  }
  const SymbolicTensor y =
      file.add("Concatenate", Config().set("axis", int64_t{o.axis}), inputs,
               call.output());
  file.set_value(call.output(), file.activated(y, o.activation, call.output()));
}

void convert_relu(OperatorCall& call) {
  convert_function(call, "ReLU", no_options());
}
void convert_relu6(OperatorCall& call) {
  convert_function(call, "ReLU", Config().set("max_value", 6.0f));
}
void convert_logistic(OperatorCall& call) { convert_named(call, "sigmoid"); }
void convert_tanh(OperatorCall& call) { convert_named(call, "tanh"); }
void convert_hard_swish(OperatorCall& call) {
  convert_named(call, "hard_silu");
}
void convert_softmax(OperatorCall& call) {
  const float beta = call.options<schema::SoftmaxOptionsT>().beta;
  if (beta != 1) call.refuse(fmt::format("beta must be 1, got {}", beta));
  convert_named(call, "softmax");
}
void convert_leaky_relu(OperatorCall& call) {
  convert_function(
      call, "LeakyReLU",
      Config().set("negative_slope",
                   call.options<schema::LeakyReluOptionsT>().alpha));
}

void convert_prelu(OperatorCall& call) {
  Importer& file = call.importer;
  const Shape& x = call.x().shape();
  Tensor alpha = file.constant(call.input(1));
  Config::List shared;
  std::vector<int64_t> sizes;
  const int missing = x.rank() - 1 - alpha.shape().rank();
  for (int axis = 1; axis < x.rank(); ++axis) {
    const int place = axis - 1 - missing;
    const int64_t size = place < 0 ? 1 : alpha.shape()[place];
    sizes.push_back(size);
    if (size == 1 && x[axis] != 1) shared.emplace_back(int64_t{axis});
  }
  alpha = alpha.reshaped(Shape(std::span<const int64_t>(sizes)));
  file.set_value(call.output(),
                 file.add("PReLU", Config().set("shared_axes", shared),
                          {call.x()}, call.output(), {alpha}));
}

// The quantizer of a requantized value moves to its producer, unless other
// operators consume the value with the producer's scale. Concatenations and
// maxima requantize by the quantizer of their output.
void convert_quantize(OperatorCall& call) {
  Importer& file = call.importer;
  const int32_t x = call.input(0), y = call.output();
  const FileQuant from = file.quant(x), to = file.quant(y);
  const bool requantizes =
      !from.scales.empty() && !to.scales.empty() &&
      (from.scales != to.scales || from.zero_point != to.zero_point ||
       from.int16 != to.int16);
  const bool shared = file.consumers(x).size() > 1;
  if (!requantizes || !(shared || file.has_prescribed_scale(x))) {
    return file.alias(y, x);
  }
  const std::vector<schema::Op> consumers = file.consumers(y);
  const bool merged = std::ranges::all_of(consumers, [](schema::Op op) {
    return op == schema::Op::CONCATENATION || op == schema::Op::MAXIMUM ||
           op == schema::Op::MINIMUM;
  });
  if (merged && !consumers.empty()) return file.set_value(y, file.value(x));
  if (shared) {
    call.refuse("other operators consume the value with another scale");
  }
  file.alias(y, x);
}
void convert_dequantize(OperatorCall& call) {
  call.importer.alias(call.output(), call.input(0));
}

}  // namespace octet::io::tflite
