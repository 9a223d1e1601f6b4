// Convolutions and Dense.
#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "lowering.h"

namespace octet::io::tflite {
namespace {

int as_int(int64_t size) { return static_cast<int>(size); }

template <class Options>
Options window_options(const FileWindow& w, schema::Activation activation) {
  Options options;
  options.padding = w.padding();
  options.stride_h = as_int(w.strides.h);
  options.stride_w = as_int(w.strides.w);
  options.activation = activation;
  return options;
}

// The image that a convolution produces; sequences have height 1.
Shape image_shape(const Shape& output) {
  return output.rank() == 3 ? Shape{output[0], 1, output[1], output[2]}
                            : output;
}

Value depthwise(Lowering& call, const Value& x, FileWindow w,
                const LinearWeights& weights, int64_t multiplier,
                schema::Activation activation, const Value& y) {
  auto options = window_options<schema::DepthwiseConv2DOptionsT>(w, activation);
  options.depth_multiplier = as_int(multiplier);
  options.dilation_h = as_int(w.dilation.h);
  options.dilation_w = as_int(w.dilation.w);
  call.file.add_operator(schema::Op::DEPTHWISE_CONV_2D, 3,
                         {x.tensor, weights.kernel.constant, weights.bias},
                         {y.tensor}, std::move(options));
  return y;
}

Value conv(Lowering& call, const Value& x, FileWindow w,
           const LinearWeights& weights, schema::Activation activation,
           const Value& y) {
  auto options = window_options<schema::Conv2DOptionsT>(w, activation);
  options.dilation_h = as_int(w.dilation.h);
  options.dilation_w = as_int(w.dilation.w);
  call.file.add_operator(schema::Op::CONV_2D, 3,
                         {x.tensor, weights.kernel.constant, weights.bias},
                         {y.tensor}, std::move(options));
  return y;
}

// Output of an operator over images, for a layer over images or sequences.
Value add_image(Lowering& call, const Shape& output) {
  return output.rank() == 3
             ? call.add_part("output", image_shape(output), call.quant)
             : call.add_output(output);
}

}  // namespace

// Kernels [kh,kw,in/groups,out] become [out,kh,kw,in/groups]; one filter per
// channel, [1,kh,kw,out].
Value lower_conv(Lowering& call) {
  const Value given = call.image_of(call.inputs[0]);
  FileWindow w = call.window(given.shape, "kernel_size");
  const Value x = call.padded(given, w, std::nullopt);
  const Shape& kernel = call.layer.parameter("kernel").variable.shape();
  const int64_t channels = x.shape[3];
  const int64_t in = kernel[-2];
  const int64_t out = kernel[-1];
  const bool sequence = kernel.rank() == 3;
  const schema::Activation activation = call.activation();
  if (in == 1 && channels > 1) {
    const LinearWeights weights = add_linear_weights(
        call, x, "kernel", {.stored = {1, w.size.h, w.size.w, out}, .axis = 3},
        out);
    return call.sequence_of(
        depthwise(call, x, w, weights, out / channels, activation,
                  add_image(call, call.shape())),
        call.shape());
  }
  const LinearWeights weights = add_linear_weights(
      call, x, "kernel",
      {.order = sequence ? std::vector{2, 0, 1} : std::vector{3, 0, 1, 2},
       .stored = {out, w.size.h, w.size.w, in},
       .axis = 0},
      out);
  return call.sequence_of(
      conv(call, x, w, weights, activation, add_image(call, call.shape())),
      call.shape());
}

// [kh,kw,c,m] is [1,kh,kw,c*m] in memory.
Value lower_depthwise_conv(Lowering& call) {
  const Value given = call.image_of(call.inputs[0]);
  FileWindow w = call.window(given.shape, "kernel_size");
  const Value x = call.padded(given, w, std::nullopt);
  const Shape& kernel =
      call.layer.parameter("depthwise_kernel").variable.shape();
  const int64_t multiplier = kernel[-1];
  const int64_t out = kernel[-2] * multiplier;
  const LinearWeights weights =
      add_linear_weights(call, x, "depthwise_kernel",
                         {.stored = {1, w.size.h, w.size.w, out},
                          .axis = 3,
                          .channels_per_scale = multiplier},
                         out);
  return call.sequence_of(
      depthwise(call, x, w, weights, multiplier, call.activation(),
                add_image(call, call.shape())),
      call.shape());
}

Value lower_separable_conv(Lowering& call) {
  const Value given = call.image_of(call.inputs[0]);
  FileWindow w = call.window(given.shape, "kernel_size");
  const Value x = call.padded(given, w, std::nullopt);
  std::optional<Quant> between;
  if (x.quant) {
    const quant::PlacedQuantizer* placed =
        call.wrapper == nullptr
            ? nullptr
            : call.wrapper->find(quant::QdqSite::intermediate(
                  std::string(quant::intermediate_tensor(call.layer))));
    if (placed == nullptr) {
      throw UnsupportedError("not_quantized", call.layer.describe(),
                             "the tensor between the two convolutions has no "
                             "quantizer. Hint: quantize_model with "
                             "Policy::tflite");
    }
    between = quant_of(*placed->quantizer);
  }
  const Shape& kernel =
      call.layer.parameter("depthwise_kernel").variable.shape();
  const int64_t multiplier = kernel[-1];
  const int64_t middle = kernel[-2] * multiplier;
  const LinearWeights first =
      add_linear_weights(call, x, "depthwise_kernel",
                         {.stored = {1, w.size.h, w.size.w, middle},
                          .axis = 3,
                          .channels_per_scale = multiplier},
                         middle, "");
  const Shape output = image_shape(call.shape());
  const Value inner =
      depthwise(call, x, w, first, multiplier, schema::Activation::NONE,
                call.add_part("depthwise", output.with(-1, middle), between));
  const int64_t out = output[-1];
  const Shape& pointwise =
      call.layer.parameter("pointwise_kernel").variable.shape();
  const LinearWeights second = add_linear_weights(
      call, inner, "pointwise_kernel",
      {.order = pointwise.rank() == 3 ? std::vector{2, 0, 1}
                                      : std::vector{3, 0, 1, 2},
       .stored = {out, 1, 1, middle},
       .axis = 0},
      out);
  return call.sequence_of(conv(call, inner, {}, second, call.activation(),
                               add_image(call, call.shape())),
                          call.shape());
}

// [kh,kw,out,in] becomes [out,kh,kw,in].
Value lower_conv_transpose(Lowering& call) {
  const Value& x = call.inputs[0];
  const Shape& y = call.shape();
  const Shape& kernel = call.layer.parameter("kernel").variable.shape();
  FileWindow w = call.window(y, "kernel_size");
  const Config* more = call.option("output_padding");
  const Config* groups = call.option("groups");
  const bool plain = w.dilation == Size2(1) &&
                     (more == nullptr || more->is_null()) &&
                     (groups == nullptr || groups->as_int() == 1) &&
                     !call.config.at("padding").is_list();
  const bool fits = !w.same || (y[1] == x.shape[1] * w.strides.h &&
                                y[2] == x.shape[2] * w.strides.w);
  if (!plain || !fits || kernel[2] != y[3]) {
    throw UnsupportedError(
        "unsupported_layer", call.layer.describe(),
        "TRANSPOSE_CONV has no dilation, groups, output padding or explicit "
        "padding");
  }
  const bool same = call.config.at("padding").as_string() == "same";
  const LinearWeights weights = add_linear_weights(
      call, x, "kernel",
      {.order = {2, 0, 1, 3},
       .stored = {kernel[2], kernel[0], kernel[1], kernel[3]},
       .axis = 0},
      kernel[2]);
  w.same = same;
  const Value output = call.add_output();
  const std::vector<int32_t> sizes{1, as_int(y[1]), as_int(y[2]), as_int(y[3])};
  auto options =
      window_options<schema::TransposeConvOptionsT>(w, call.activation());
  call.file.add_operator(
      schema::Op::TRANSPOSE_CONV, 4,
      {call.file.add_constant(call.part_name("shape"), sizes),
       weights.kernel.constant, x.tensor, weights.bias},
      {output.tensor}, std::move(options));
  return output;
}

// [in,out] becomes [out,in].
Value lower_dense(Lowering& call) {
  const Value& x = call.inputs[0];
  const Shape& kernel = call.layer.parameter("kernel").variable.shape();
  const LinearWeights weights = add_linear_weights(
      call, x, "kernel",
      {.order = {1, 0}, .stored = {kernel[1], kernel[0]}, .axis = 0},
      kernel[1]);
  schema::FullyConnectedOptionsT options;
  options.activation = call.activation();
  options.keep_num_dims = x.shape.rank() > 2;
  const Value y = call.add_output();
  // Version 12 has a scale per output channel.
  const int version = weights.kernel.scales.size() > 1 ? 12
                      : x.quant                        ? 4
                      : options.keep_num_dims          ? 5
                                                       : 1;
  call.file.add_operator(schema::Op::FULLY_CONNECTED, version,
                         {x.tensor, weights.kernel.constant, weights.bias},
                         {y.tensor}, std::move(options));
  return y;
}

}  // namespace octet::io::tflite
