#include <fmt/format.h>

#include <octet/layers/onnx_builder.h>

namespace octet {
namespace {

// Repeats each scale to `count` in total: `arrange` may have split every
// channel into several outputs, as in depthwise convolutions with a multiplier.
Tensor repeated(const Tensor& scale, int64_t count) {
  const int64_t copies = count / scale.size();
  if (copies <= 1) return scale;
  Tensor result({count});
  const auto to = result.f32();
  for (size_t i = 0; i < to.size(); ++i) {
    to[i] = scale.f32()[i / static_cast<size_t>(copies)];
  }
  return result;
}

std::optional<QuantParams> qparams_of(const QuantizeHook* hook,
                                      const Parameter& parameter) {
  return hook == nullptr ? std::nullopt : hook->qparams(parameter);
}

}  // namespace

Tensor Arrangement::apply(const Tensor& value) const {
  Tensor result = split.rank() > 0 ? value.reshaped(split) : value;
  if (!order.empty()) result = result.transposed(order);
  return joined.rank() > 0 ? result.reshaped(joined) : result;
}

Shape Arrangement::shape_of(const Shape& value) const {
  if (joined.rank() > 0) return joined;
  const Shape& taken = split.rank() > 0 ? split : value;
  if (order.empty()) return taken;
  std::vector<int64_t> dims;
  for (const int axis : order) dims.push_back(taken[axis]);
  return Shape(std::span<const int64_t>(dims));
}

int64_t OnnxValue::onnx_axis(int64_t axis) const {
  const int rank = shape.rank();
  if (!channels_first() || axis == 0) return axis;
  return axis == rank - 1 ? 1 : axis + 1;
}

Tensor beside_channels(const Tensor& per_channel, const OnnxValue& x) {
  const int64_t c = per_channel.size();
  if (!x.channels_first()) return per_channel;
  return per_channel.reshaped(x.shape.rank() == 4 ? Shape{c, 1, 1}
                                                  : Shape{c, 1});
}

std::string EmitContext::node(std::string_view op_type,
                              const std::vector<std::string>& inputs,
                              const OnnxBuilder::Attributes& attributes) {
  return builder_.add_node(op_type, layer_, inputs, attributes);
}

std::string EmitContext::part(std::string_view op_type, std::string_view name,
                              const std::vector<std::string>& inputs,
                              const OnnxBuilder::Attributes& attributes) {
  return builder_.add_node(op_type, fmt::format("{}/{}", layer_, name), inputs,
                           attributes);
}

std::string EmitContext::weight(
    const Parameter& parameter,
    const std::function<Tensor(const Tensor&)>& arrange, int onnx_axis) {
  const std::string name = layer_ + "/" + parameter.name;
  const Tensor& value = parameter.variable.value();
  const std::optional<QuantParams> qparams = qparams_of(hook_, parameter);
  if (!qparams) return builder_.add_initializer(name, arrange(value));
  const Tensor rounded = dequantize(quantize(value, *qparams), *qparams);
  return quantized_weight(name, arrange(rounded), *qparams, onnx_axis);
}

std::string EmitContext::weight(const Parameter& parameter,
                                const Arrangement& stored, int onnx_axis) {
  if (qparams_of(hook_, parameter)) {
    return weight(
        parameter, [&](const Tensor& value) { return stored.apply(value); },
        onnx_axis);
  }
  return builder_.add_initializer(layer_ + "/" + parameter.name,
                                  parameter.variable.value(), stored);
}

std::string EmitContext::quantized_weight(const std::string& name,
                                          const Tensor& arranged,
                                          QuantParams qparams, int onnx_axis) {
  const std::string initializer = builder_.add_initializer(name, arranged);
  qparams.axis = onnx_axis;
  if (qparams.per_channel()) {
    qparams.scale = repeated(qparams.scale, arranged.shape()[onnx_axis]);
  }
  return builder_.add_qdq(initializer, name, qparams);
}

std::string EmitContext::weight(const Parameter& parameter) {
  return weight(parameter, Arrangement(), 0);
}

std::string EmitContext::intermediate(std::string_view name,
                                      const std::string& x) {
  if (hook_ == nullptr) return x;
  const std::optional<QuantizeHook::Pair> pair = hook_->intermediate(name);
  return pair ? builder_.add_qdq(x, pair->name, pair->qparams) : x;
}

std::string EmitContext::scalar(std::string_view name, float value) {
  return builder_.add_initializer(fmt::format("{}/{}", layer_, name),
                                  Tensor::scalar(value));
}

std::string EmitContext::integers(std::string_view name,
                                  const std::vector<int64_t>& values) {
  return builder_.add_initializer(
      fmt::format("{}/{}", layer_, name),
      Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, values));
}

std::string EmitContext::keras_layout(const OnnxValue& value) {
  if (value.ncl) {
    return builder_.add_node("Transpose", layer_ + "/nlc", {value.name},
                             {{"perm", std::vector<int64_t>{0, 2, 1}}});
  }
  if (value.shape.rank() != 4) return keras_order(value).name;
  return builder_.add_node("Transpose", layer_ + "/nhwc", {value.name},
                           {{"perm", std::vector<int64_t>{0, 2, 3, 1}}});
}

OnnxValue EmitContext::from_keras_layout(std::string name, const Shape& shape,
                                         bool ncl) {
  if (ncl) {
    return {builder_.add_node("Transpose", layer_ + "/ncl", {name},
                              {{"perm", std::vector<int64_t>{0, 2, 1}}}),
            shape, true};
  }
  if (shape.rank() != 4) return {std::move(name), shape};
  return {builder_.add_node("Transpose", layer_ + "/nchw", {name},
                            {{"perm", std::vector<int64_t>{0, 3, 1, 2}}}),
          shape};
}

OnnxValue EmitContext::keras_order(const OnnxValue& value) {
  const Shape& image = value.flattened_from;  // [h,w,c], stored c,h,w
  if (image.rank() != 3) return value;
  const auto reshape = [&](const std::string& from, const char* name,
                           const std::vector<int64_t>& dims) {
    return builder_.add_node("Reshape", fmt::format("{}/{}", layer_, name),
                             {from, integers(name, dims)});
  };
  const std::string chw =
      reshape(value.name, "image", {-1, image[2], image[0], image[1]});
  const std::string hwc =
      builder_.add_node("Transpose", layer_ + "/keras_order", {chw},
                        {{"perm", std::vector<int64_t>{0, 2, 3, 1}}});
  return {reshape(hwc, "features", {-1, value.shape[1]}), value.shape};
}

}  // namespace octet
