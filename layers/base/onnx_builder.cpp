#include <fmt/format.h>

#include <octet/layers/custom_layer.h>

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
  // Integers have no negative zero.
  const NoGradGuard no_grad;
  const Tensor rounded = qparams->plain_integer()
                             ? dequantize(quantize(value, *qparams), *qparams)
                             : fake_quantize(Variable(value), *qparams).value();
  if (qparams->block == 0) {
    return quantized_weight(name, arrange(rounded), *qparams, onnx_axis);
  }
  QuantParams blocks = *qparams;
  blocks.scale = arrange(blocks.scale);
  blocks.axis = 1 - onnx_axis;
  return builder_.add_qdq(builder_.add_initializer(name, arrange(rounded)),
                          name, blocks);
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

OnnxValue EmitContext::channels_first_node(
    std::string_view op_type, std::vector<std::string> inputs,
    const Shape& shape, const OnnxBuilder::Attributes& attributes) {
  const int rank = shape.rank();
  inputs[0] = channels_first(inputs[0], rank);
  return {channels_last(node(op_type, inputs, attributes), rank), shape};
}

std::string EmitContext::channels_first(const std::string& value, int rank) {
  if (rank < 3) return value;
  std::vector<int64_t> perm{0, rank - 1};
  for (int axis = 1; axis < rank - 1; ++axis) perm.push_back(axis);
  return part("Transpose", "channels_first", {value}, {{"perm", perm}});
}

std::string EmitContext::channels_last(const std::string& value, int rank) {
  if (rank < 3) return value;
  std::vector<int64_t> perm{0};
  for (int axis = 2; axis < rank; ++axis) perm.push_back(axis);
  perm.push_back(1);
  return part("Transpose", "channels_last", {value}, {{"perm", perm}});
}

}  // namespace octet
