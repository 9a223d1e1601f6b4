#include "builder.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <unordered_set>

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet::io::tflite {
namespace {

// FlatBuffers have 32-bit signed offsets.
constexpr int64_t kLargestFile = std::numeric_limits<int32_t>::max();

std::vector<int32_t> dims_of(const Shape& shape) {
  std::vector<int32_t> dims;
  for (const int64_t size : shape.dims()) {
    dims.push_back(size == Shape::kAnySize ? 1 : static_cast<int32_t>(size));
  }
  return dims;
}

schema::TensorType type_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return schema::TensorType::FLOAT32;
    case DType::i8:
      return schema::TensorType::INT8;
    case DType::i32:
      return schema::TensorType::INT32;
    default:
      break;
  }
  throw InternalError("internal", "tflite constant", "unexpected element type");
}

struct Int16Version {
  schema::Op op;
  int version;
};
// Operators with an int16 form in LiteRT and TensorFlow Lite Micro.
// Source: tensorflow/lite/tools/versioning/op_version.cc.
constexpr Int16Version kInt16Versions[] = {
    {schema::Op::ADD, 3},          {schema::Op::AVERAGE_POOL_2D, 3},
    {schema::Op::BATCH_MATMUL, 3}, {schema::Op::CONCATENATION, 3},
    {schema::Op::CONV_2D, 4},      {schema::Op::DEPTHWISE_CONV_2D, 5},
    {schema::Op::DEQUANTIZE, 3},   {schema::Op::FULLY_CONNECTED, 7},
    {schema::Op::LEAKY_RELU, 2},   {schema::Op::LOGISTIC, 3},
    {schema::Op::MAXIMUM, 4},      {schema::Op::MAX_POOL_2D, 3},
    {schema::Op::MEAN, 3},         {schema::Op::MINIMUM, 4},
    {schema::Op::MUL, 4},          {schema::Op::PAD, 3},
    {schema::Op::PADV2, 3},        {schema::Op::QUANTIZE, 2},
    {schema::Op::RELU, 3},         {schema::Op::RELU6, 3},
    {schema::Op::RESHAPE, 1},      {schema::Op::RESIZE_NEAREST_NEIGHBOR, 4},
    {schema::Op::SOFTMAX, 3},      {schema::Op::STRIDED_SLICE, 1},
    {schema::Op::SUB, 5},          {schema::Op::TANH, 3},
    {schema::Op::TRANSPOSE, 5},    {schema::Op::TRANSPOSE_CONV, 4},
};

int int16_version(schema::Op op) {
  const auto* found = std::ranges::find(kInt16Versions, op, &Int16Version::op);
  if (found != std::end(kInt16Versions)) return found->version;
  throw UnsupportedError(
      "unsupported_layer", schema::EnumNameOp(op),
      fmt::format("{} has no form for 16-bit activations. Hint: --bits 8,8",
                  schema::EnumNameOp(op)));
}

std::unique_ptr<schema::QuantizationParametersT> parameters(
    std::span<const float> scales, int64_t zero_point, int axis) {
  auto result = std::make_unique<schema::QuantizationParametersT>();
  result->scale.assign(scales.begin(), scales.end());
  result->zero_point.assign(scales.size(), zero_point);
  result->quantized_dimension = axis;
  return result;
}

std::string_view bytes_of(const Tensor& value) {
  return {static_cast<const char*>(value.raw()),
          static_cast<size_t>(value.bytes())};
}

}  // namespace

FileBuilder::FileBuilder() {
  model_.version = 3;
  model_.subgraphs.push_back(std::make_unique<schema::SubGraphT>());
  graph().name = "main";
  // Buffer 0 is empty: the buffer of tensors without constant data.
  model_.buffers.push_back(std::make_unique<schema::BufferT>());
}

schema::TensorT& FileBuilder::new_tensor(std::string_view name,
                                         schema::TensorType type) {
  graph().tensors.push_back(std::make_unique<schema::TensorT>());
  schema::TensorT& tensor = *graph().tensors.back();
  tensor.name = names_.add(std::string(name));
  tensor.type = type;
  return tensor;
}

int FileBuilder::add_tensor(std::string_view name, const Shape& shape,
                            schema::TensorType type,
                            const std::optional<Quant>& quant) {
  schema::TensorT& tensor = new_tensor(name, type);
  tensor.shape = dims_of(shape);
  if (shape.rank() > 0 && shape[0] == Shape::kAnySize) {
    tensor.shape_signature = tensor.shape;
    tensor.shape_signature[0] = -1;
  }
  if (quant) {
    tensor.quantization =
        parameters(std::span(&quant->scale, 1), quant->zero_point, 0);
  }
  return static_cast<int>(graph().tensors.size()) - 1;
}

Value FileBuilder::add_value(std::string_view name, const Shape& shape,
                             const std::optional<Quant>& quant) {
  const auto type = !quant         ? schema::TensorType::FLOAT32
                    : quant->int16 ? schema::TensorType::INT16
                                   : schema::TensorType::INT8;
  return {add_tensor(name, shape, type, quant), shape, quant};
}

uint32_t FileBuilder::buffer_of(std::string_view bytes) {
  const auto found = buffers_.find(bytes);
  if (found != buffers_.end()) return found->second;
  constant_bytes_ += std::ssize(bytes);
  if (constant_bytes_ > kLargestFile) {
    throw ValueError("size_limit", "tflite file",
                     "weights exceed 2 GiB, the largest size of the format");
  }
  auto buffer = std::make_unique<schema::BufferT>();
  buffer->data.assign(bytes.begin(), bytes.end());
  model_.buffers.push_back(std::move(buffer));
  const auto index = static_cast<uint32_t>(model_.buffers.size() - 1);
  buffers_.emplace(bytes, index);
  return index;
}

int FileBuilder::add_constant(std::string_view name, const Tensor& value,
                              std::span<const float> scales, int axis) {
  schema::TensorT& tensor = new_tensor(name, type_of(value.dtype()));
  tensor.shape = dims_of(value.shape());
  tensor.buffer = buffer_of(bytes_of(value));
  if (!scales.empty()) tensor.quantization = parameters(scales, 0, axis);
  return static_cast<int>(graph().tensors.size()) - 1;
}

int FileBuilder::add_constant(std::string_view name,
                              std::span<const int32_t> values,
                              std::span<const float> scales) {
  schema::TensorT& tensor = new_tensor(name, schema::TensorType::INT32);
  tensor.shape = {static_cast<int32_t>(values.size())};
  tensor.buffer = buffer_of(
      {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  if (!scales.empty()) tensor.quantization = parameters(scales, 0, 0);
  return static_cast<int>(graph().tensors.size()) - 1;
}

int FileBuilder::add_constant(std::string_view name,
                              std::span<const int64_t> values,
                              std::span<const float> scales) {
  schema::TensorT& tensor = new_tensor(name, schema::TensorType::INT64);
  tensor.shape = {static_cast<int32_t>(values.size())};
  tensor.buffer = buffer_of(
      {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  tensor.quantization = parameters(scales, 0, 0);
  return static_cast<int>(graph().tensors.size()) - 1;
}

int FileBuilder::add_scalar(std::string_view name, int value,
                            const Quant& quant) {
  schema::TensorT& tensor = new_tensor(
      name, quant.int16 ? schema::TensorType::INT16 : schema::TensorType::INT8);
  const auto q = static_cast<int16_t>(value);  // little-endian
  tensor.buffer = buffer_of(
      {reinterpret_cast<const char*>(&q), size_t{quant.int16 ? 2u : 1u}});
  tensor.quantization =
      parameters(std::span(&quant.scale, 1), quant.zero_point, 0);
  return static_cast<int>(graph().tensors.size()) - 1;
}

bool FileBuilder::is_int16(int tensor) const {
  return tensor >= 0 && graph().tensors[static_cast<size_t>(tensor)]->type ==
                            schema::TensorType::INT16;
}

schema::OperatorT& FileBuilder::append(schema::Op op, int version,
                                       std::vector<int> inputs,
                                       std::vector<int> outputs) {
  const auto wide = [&](int tensor) { return is_int16(tensor); };
  if (std::ranges::any_of(inputs, wide) || std::ranges::any_of(outputs, wide)) {
    version = int16_version(op);
  }
  auto& codes = model_.operator_codes;
  auto code = std::ranges::find_if(codes, [&](const auto& known) {
    return known->builtin_code == op && known->version == version;
  });
  if (code == codes.end()) {
    auto added = std::make_unique<schema::OperatorCodeT>();
    added->builtin_code = op;
    // Readers before version 3a of the schema use the byte.
    added->deprecated_builtin_code =
        static_cast<int8_t>(std::min(static_cast<int>(op), 127));
    added->version = version;
    codes.push_back(std::move(added));
    code = codes.end() - 1;
  }
  auto added = std::make_unique<schema::OperatorT>();
  added->opcode_index = static_cast<uint32_t>(code - codes.begin());
  added->inputs.assign(inputs.begin(), inputs.end());
  added->outputs.assign(outputs.begin(), outputs.end());
  graph().operators.push_back(std::move(added));
  return *graph().operators.back();
}

namespace {

std::unique_ptr<schema::TensorMapT> mapped(std::string name, int tensor) {
  auto map = std::make_unique<schema::TensorMapT>();
  map->name = std::move(name);
  map->tensor_index = static_cast<uint32_t>(tensor);
  return map;
}

}  // namespace

void FileBuilder::add_input(int tensor, std::string name) {
  graph().inputs.push_back(tensor);
  if (model_.signature_defs.empty()) {
    model_.signature_defs.push_back(std::make_unique<schema::SignatureDefT>());
    model_.signature_defs[0]->signature_key = "serving_default";
  }
  model_.signature_defs[0]->inputs.push_back(mapped(std::move(name), tensor));
}

void FileBuilder::add_output(int tensor, std::string name) {
  graph().outputs.push_back(tensor);
  model_.signature_defs[0]->outputs.push_back(mapped(std::move(name), tensor));
}

void FileBuilder::add_metadata(std::string name, std::string_view contents) {
  auto entry = std::make_unique<schema::MetadataT>();
  entry->name = std::move(name);
  entry->buffer = buffer_of(contents);
  model_.metadata.push_back(std::move(entry));
}

// Reshapes between sequences and images remain without consumers.
void FileBuilder::drop_dead_operators() {
  std::unordered_set<int> used(graph().outputs.begin(), graph().outputs.end());
  auto& operators = graph().operators;
  for (auto op = operators.rbegin(); op != operators.rend(); ++op) {
    const bool dead = std::ranges::none_of(
        (*op)->outputs, [&](int tensor) { return used.contains(tensor); });
    if (dead) {
      op->reset();
    } else {
      used.insert((*op)->inputs.begin(), (*op)->inputs.end());
    }
  }
  std::erase(operators, nullptr);
  used.insert(graph().inputs.begin(), graph().inputs.end());
  for (const auto& op : operators) {
    used.insert(op->outputs.begin(), op->outputs.end());
  }
  std::vector<int> moved;
  std::vector<std::unique_ptr<schema::TensorT>> tensors;
  for (size_t i = 0; i < graph().tensors.size(); ++i) {
    moved.push_back(static_cast<int>(tensors.size()));
    if (!used.contains(static_cast<int>(i))) continue;
    tensors.push_back(std::move(graph().tensors[i]));
  }
  graph().tensors = std::move(tensors);
  const auto renumber = [&](std::vector<int32_t>& list) {
    for (int32_t& tensor : list) {
      if (tensor >= 0) tensor = moved[static_cast<size_t>(tensor)];
    }
  };
  renumber(graph().inputs);
  renumber(graph().outputs);
  for (const auto& op : operators) {
    renumber(op->inputs);
    renumber(op->outputs);
  }
  for (const auto& signature : model_.signature_defs) {
    for (auto* list : {&signature->inputs, &signature->outputs}) {
      for (const auto& map : *list) {
        map->tensor_index =
            static_cast<uint32_t>(moved[size_t{map->tensor_index}]);
      }
    }
  }
}

std::string FileBuilder::finish(std::string description) {
  drop_dead_operators();
  model_.description = std::move(description);
  flatbuffers::FlatBufferBuilder file(1 << 20);
  file.Finish(schema::Model::Pack(file, &model_), schema::ModelIdentifier());
  return {reinterpret_cast<const char*>(file.GetBufferPointer()),
          file.GetSize()};
}

}  // namespace octet::io::tflite
