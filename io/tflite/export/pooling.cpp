// Pools and reductions.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "lowering.h"

namespace octet::io::tflite {
namespace {

bool is_max(const Lowering& call) {
  return call.layer.class_name().find("MaxPooling") != std::string::npos;
}

void add_pool(Lowering& call, const Value& x, const FileWindow& w,
              const Value& y) {
  schema::Pool2DOptionsT options;
  options.padding = w.padding();
  options.stride_h = static_cast<int>(w.strides.h);
  options.stride_w = static_cast<int>(w.strides.w);
  options.filter_h = static_cast<int>(w.size.h);
  options.filter_w = static_cast<int>(w.size.w);
  options.activation = call.fused;
  const int version = x.quant ? 2 : 1;
  call.file.add_operator(
      is_max(call) ? schema::Op::MAX_POOL_2D : schema::Op::AVERAGE_POOL_2D,
      version, {x.tensor}, {y.tensor}, std::move(options));
}

Shape as_image(const Shape& s) {
  return s.rank() == 3 ? Shape{s[0], 1, s[1], s[2]} : s;
}

Value add_reduction(Lowering& call, schema::Op op, const Value& x,
                    std::vector<int32_t> axes, bool keep_dims) {
  const Value y = call.add_output();
  schema::ReducerOptionsT options;
  options.keep_dims = keep_dims;
  const int version = x.quant ? 2 : 1;
  call.file.add_operator(
      op, version,
      {x.tensor, call.file.add_constant(call.part_name("axes"), axes)},
      {y.tensor}, std::move(options));
  return y;
}

}  // namespace

Value lower_pool(Lowering& call) {
  const Value given = call.image_of(call.inputs[0]);
  FileWindow w = call.window(given.shape, "pool_size");
  if (w.dilation != Size2(1)) {
    throw UnsupportedError("unsupported_layer", call.layer.describe(),
                           "pools of TensorFlow Lite have no dilation");
  }
  const bool explicit_pads = !w.same && w.pads != Pads{};
  if (explicit_pads && !is_max(call)) {
    throw UnsupportedError(
        "unsupported_layer", call.layer.describe(),
        "AVERAGE_POOL_2D has no explicit padding. Hint: padding 'same'");
  }
  // Padding must not exceed any value.
  const float least = given.quant ? static_cast<float>(given.quant->lowest())
                                  : std::numeric_limits<float>::lowest();
  const Value x = call.padded(given, w, least);
  const Shape image = as_image(call.shape());
  const Value y = call.shape().rank() == 3
                      ? call.add_part("output", image, call.quant)
                      : call.add_output();
  add_pool(call, x, w, y);
  return call.sequence_of(y, call.shape());
}

Value lower_global_pool(Lowering& call) {
  const Value& x = call.inputs[0];
  const Config* keepdims = call.option("keepdims");
  const bool keeps = keepdims != nullptr && keepdims->as_bool();
  if (!is_max(call)) {
    return add_reduction(call, schema::Op::MEAN, x,
                         x.shape.rank() == 4 ? std::vector<int32_t>{1, 2}
                                             : std::vector<int32_t>{1},
                         keeps);
  }
  const Value image = call.image_of(x);
  const Shape& s = image.shape;
  const Value y = call.add_part("output", {s[0], 1, 1, s[3]}, call.quant);
  FileWindow w;
  w.size = w.strides = {s[1], s[2]};
  add_pool(call, image, w, y);
  return call.reshaped(y, call.shape(), "");
}

Value lower_reduce(Lowering& call) {
  const Value& x = call.inputs[0];
  const std::string operation = call.config.at("operation").as_string();
  std::vector<int32_t> axes;
  for (const Config& axis : call.config.at("axes").as_list()) {
    const auto i = static_cast<int32_t>(axis.as_int());
    axes.push_back(i < 0 ? i + x.shape.rank() : i);
  }
  std::ranges::sort(axes);
  const bool keeps = call.config.at("keepdims").as_bool();
  if (operation == "mean") {
    return add_reduction(call, schema::Op::MEAN, x, axes, keeps);
  }
  if (operation == "sum") {
    return add_reduction(call, schema::Op::SUM, x, axes, keeps);
  }
  throw UnsupportedError(
      "unsupported_layer", call.layer.describe(),
      fmt::format("operation {} has no operator, only mean and sum",
                  operation));
}

}  // namespace octet::io::tflite
