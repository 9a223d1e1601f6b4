#include "importer.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <octet/quant/wrapper.h>

namespace octet::io::tflite {
namespace {

// Layer names are parts of other names, before a slash. TensorFlow joins the
// names of fused nodes by semicolons.
std::string as_layer_name(const std::string& tensor) {
  std::string name = tensor.substr(0, tensor.find(';'));
  std::ranges::replace(name, '/', '_');
  return name.empty() ? "layer" : name;
}

template <class T>
T element_at(std::string_view bytes, size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

float integer_at(const schema::TensorT& t, std::string_view bytes, size_t i) {
  switch (t.type) {
    case schema::TensorType::INT8:
      return element_at<int8_t>(bytes, i);
    case schema::TensorType::UINT8:
      return element_at<uint8_t>(bytes, i);
    case schema::TensorType::INT16:
      return element_at<int16_t>(bytes, i);
    case schema::TensorType::INT32:
      return static_cast<float>(element_at<int32_t>(bytes, i));
    case schema::TensorType::INT64:
      return static_cast<float>(element_at<int64_t>(bytes, i));
    default:
      break;
  }
  throw UnsupportedError(
      "unsupported_type", fmt::format("tensor '{}'", t.name),
      fmt::format("must be a constant of a supported type, got {}",
                  name_of(t.type)));
}

float half_to_float(uint16_t half) {
  const int exponent = half >> 10 & 31;
  const int mantissa = half & 1023;
  const float sign = (half & 0x8000) != 0 ? -1.0f : 1.0f;
  if (exponent == 31) return sign * std::numeric_limits<float>::infinity();
  if (exponent == 0)
    return sign * std::ldexp(static_cast<float>(mantissa), -24);
  return sign * std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
}

Shape shape_from(const schema::TensorT& tensor) {
  const std::vector<int64_t> sizes(tensor.shape.begin(), tensor.shape.end());
  return Shape(std::span<const int64_t>(sizes));
}

}  // namespace

Importer::Importer(std::shared_ptr<const schema::ModelT> file)
    : file_(std::move(file)) {}

const schema::TensorT& Importer::info(int32_t tensor) const {
  return *graph().tensors.at(static_cast<size_t>(tensor));
}

bool Importer::is_constant(int32_t tensor) const {
  return !constant_of(*file_, info(tensor)).empty();
}

const SymbolicTensor& Importer::value(int32_t tensor) const {
  const auto found = values_.find(tensor);
  if (found != values_.end()) return found->second;
  throw UnsupportedError("unsupported_operator",
                         fmt::format("tensor '{}'", info(tensor).name),
                         "must be computed from the inputs, got a constant");
}

void Importer::set_value(int32_t tensor, SymbolicTensor value) {
  values_[tensor] = std::move(value);
}

void Importer::alias(int32_t tensor, int32_t of) {
  values_[tensor] = value(of);
  // The alias has the quantizer.
  for (auto* map : {&outputs_, &inputs_}) {
    for (auto& [layer, output] : *map) {
      if (output == of && !quant(tensor).scales.empty()) output = tensor;
    }
  }
}

Pads Importer::pads(int32_t tensor) const {
  const auto found = pads_.find(tensor);
  return found == pads_.end() ? Pads{} : found->second;
}

FileQuant Importer::quant(int32_t tensor) const {
  const auto* q = info(tensor).quantization.get();
  const auto type = info(tensor).type;
  const bool int16 = type == schema::TensorType::INT16;
  if (q == nullptr || q->scale.empty() ||
      (type != schema::TensorType::INT8 && !int16)) {
    return {};
  }
  const int zero_point =
      q->zero_point.empty() ? 0 : static_cast<int>(q->zero_point[0]);
  if (int16 && zero_point != 0) {
    throw UnsupportedError(
        "unsupported_value", fmt::format("tensor '{}'", info(tensor).name),
        fmt::format("int16 values must have zero point 0, got {}", zero_point));
  }
  return {q->scale, zero_point, q->quantized_dimension, int16};
}

bool Importer::is_quantized() const {
  return std::ranges::any_of(outputs_, [&](const auto& output) {
    return !quant(output.second).scales.empty();
  });
}

bool Importer::is_int16() const {
  return std::ranges::any_of(
      outputs_, [&](const auto& output) { return quant(output.second).int16; });
}

void Importer::expect_no_uint8() const {
  for (const auto& op : graph().operators) {
    const schema::Op code = op_of(*file_, *op);
    if (code == schema::Op::QUANTIZE || code == schema::Op::DEQUANTIZE) {
      continue;
    }
    for (const auto* list : {&op->inputs, &op->outputs}) {
      for (const int32_t tensor : *list) {
        if (tensor < 0 || info(tensor).type != schema::TensorType::UINT8) {
          continue;
        }
        throw UnsupportedError(
            "unsupported_type", fmt::format("tensor '{}'", info(tensor).name),
            "Octet keeps the quantizers of int8 and int16, got uint8. Hint: "
            "--drop-quantizers imports the float model");
      }
    }
  }
}

std::vector<schema::Op> Importer::consumers(int32_t tensor) const {
  std::vector<schema::Op> result;
  for (const auto& op : graph().operators) {
    const auto uses = std::ranges::count(op->inputs, tensor);
    result.insert(result.end(), static_cast<size_t>(uses), op_of(*file_, *op));
  }
  const auto outputs = std::ranges::count(graph().outputs, tensor);
  result.insert(result.end(), static_cast<size_t>(outputs),
                schema::Op::DEQUANTIZE);
  return result;
}

bool Importer::has_prescribed_scale(int32_t tensor) const {
  return std::ranges::any_of(graph().operators, [&](const auto& op) {
    const schema::Op code = op_of(*file_, *op);
    return std::ranges::find(op->outputs, tensor) != op->outputs.end() &&
           (code == schema::Op::SOFTMAX || code == schema::Op::LOGISTIC ||
            code == schema::Op::TANH);
  });
}

std::vector<int64_t> Importer::integers(int32_t tensor) const {
  const std::string_view bytes = constant_of(*file_, info(tensor));
  const auto type = info(tensor).type;
  std::vector<int64_t> result;
  const int64_t width = element_size(type);
  if (width == 0 || (type != schema::TensorType::INT32 &&
                     type != schema::TensorType::INT64)) {
    throw UnsupportedError(
        "unsupported_type", fmt::format("tensor '{}'", info(tensor).name),
        fmt::format("must be int32 or int64, got {}", name_of(type)));
  }
  if (bytes.empty()) {
    throw UnsupportedError("unsupported_operator",
                           fmt::format("tensor '{}'", info(tensor).name),
                           "sizes and axes must be constant");
  }
  for (size_t i = 0; i < bytes.size() / static_cast<size_t>(width); ++i) {
    result.push_back(type == schema::TensorType::INT32
                         ? int64_t{element_at<int32_t>(bytes, i)}
                         : element_at<int64_t>(bytes, i));
  }
  return result;
}

Tensor Importer::constant(int32_t tensor) const {
  const schema::TensorT& t = info(tensor);
  const std::string_view bytes = constant_of(*file_, t);
  const Shape shape = shape_from(t);
  const int64_t width =
      t.type == schema::TensorType::FLOAT16 ? 2 : element_size(t.type);
  const std::string tensor_text = fmt::format("tensor '{}'", t.name);
  if (bytes.empty()) {
    throw UnsupportedError("unsupported_type", tensor_text, "must be constant");
  }
  if (width == 0 || std::ssize(bytes) != shape.size() * width) {
    throw UnsupportedError(
        "unsupported_type", tensor_text,
        fmt::format("must be a constant of a supported type, got "
                    "{}",
                    name_of(t.type)));
  }
  Tensor result = Tensor::zeros(shape);
  const auto to = result.f32();
  const auto* q = t.quantization.get();
  const bool scaled = q != nullptr && !q->scale.empty();
  int64_t inner = 1;
  if (scaled && q->scale.size() > 1) {
    const auto rank = static_cast<int>(t.shape.size());
    for (int i = q->quantized_dimension + 1; i < rank; ++i) {
      inner *= t.shape[static_cast<size_t>(i)];
    }
  }
  for (size_t i = 0; i < to.size(); ++i) {
    switch (t.type) {
      case schema::TensorType::FLOAT32:
        to[i] = element_at<float>(bytes, i);
        continue;
      case schema::TensorType::FLOAT16:
        to[i] = half_to_float(element_at<uint16_t>(bytes, i));
        continue;
      default:
        break;
    }
    const float value = integer_at(t, bytes, i);
    const size_t channel =
        scaled ? i / static_cast<size_t>(inner) % q->scale.size() : 0;
    const float zero = scaled && !q->zero_point.empty()
                           ? static_cast<float>(q->zero_point[channel])
                           : 0;
    to[i] = scaled ? q->scale[channel] * (value - zero) : value;
  }
  return result;
}

std::string Importer::layer_name(int32_t tensor) {
  return names_.add(as_layer_name(info(tensor).name));
}

SymbolicTensor Importer::add(std::string_view class_name, const Config& config,
                             const std::vector<SymbolicTensor>& inputs,
                             int32_t tensor,
                             const std::vector<Tensor>& weights) {
  const std::shared_ptr<Layer> layer = create_layer(class_name, config);
  layer->set_name(layer_name(tensor));
  const SymbolicTensor y = call(layer, inputs);
  if (!weights.empty()) layer->set_parameters(weights);
  outputs_[layer->name()] = tensor;
  return y;
}

void Importer::set_weight_scales(const SymbolicTensor& layer,
                                 std::string parameter,
                                 std::vector<float> scales) {
  weight_scales_[{layer.node->layer->name(), std::move(parameter)}] =
      std::move(scales);
}

SymbolicTensor Importer::activated(const SymbolicTensor& y,
                                   schema::Activation activation,
                                   int32_t tensor) {
  switch (activation) {
    case schema::Activation::NONE:
      return y;
    case schema::Activation::RELU:
      return add("ReLU", Config(Config::Object()), {y}, tensor);
    case schema::Activation::RELU6:
      return add("ReLU", Config().set("max_value", 6.0f), {y}, tensor);
    default:
      break;
  }
  throw UnsupportedError("unsupported_operator",
                         fmt::format("tensor '{}'", info(tensor).name),
                         fmt::format("fused activation {} has no layer",
                                     schema::EnumNameActivation(activation)));
}

Model Importer::run() {
  for (const int32_t tensor : graph().inputs) {
    const schema::TensorT& t = info(tensor);
    if (t.type != schema::TensorType::FLOAT32 &&
        t.type != schema::TensorType::INT8 &&
        t.type != schema::TensorType::INT16 &&
        t.type != schema::TensorType::UINT8) {
      throw UnsupportedError(
          "unsupported_type", fmt::format("input '{}'", t.name),
          fmt::format("must be float32, int8, int16 or uint8, got {}",
                      name_of(t.type)));
    }
    const Shape shape = shape_from(t);
    if (shape.rank() < 2 || shape[0] != 1) {
      throw UnsupportedError(
          "unsupported_model", fmt::format("input '{}'", t.name),
          fmt::format("must have a batch of 1, got {}", shape.to_string()));
    }
    const std::string name = layer_name(tensor);
    values_[tensor] = input(shape.slice(1, shape.rank()), name);
    inputs_[name] = tensor;
  }
  std::vector<std::string> problems;
  for (size_t i = 0; i < graph().operators.size(); ++i) {
    const schema::OperatorT& op = *graph().operators[i];
    const schema::Op code = op_of(*file_, op);
    const Convert convert = find_converter(code);
    const std::string name = fmt::format("operator {} ({})", i, name_of(code));
    if (convert == nullptr ||
        (op.outputs.size() != 1 && code != schema::Op::SPLIT)) {
      problems.push_back(fmt::format("{}: no layer", name));
      continue;
    }
    if (!problems.empty()) continue;
    OperatorCall call{*this, op, name};
    convert(call);
  }
  if (!problems.empty()) {
    throw UnsupportedError(
        "unsupported_operator", "tflite import",
        fmt::format("cannot import {} operator{}:\n  {}", problems.size(),
                    problems.size() == 1 ? "" : "s",
                    fmt::join(problems, "\n  ")));
  }
  std::vector<SymbolicTensor> inputs, outputs;
  for (const int32_t tensor : graph().inputs) inputs.push_back(value(tensor));
  for (const int32_t tensor : graph().outputs) {
    outputs.push_back(value(tensor));
  }
  const std::string name = graph().name.empty() ? "model" : graph().name;
  return Model(inputs, outputs, {.name = name});
}

}  // namespace octet::io::tflite
