#include "file.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet::io::tflite {
namespace {

[[noreturn]] void refuse_file(const std::string& problem) {
  throw FormatError("invalid_file", "tflite model", problem);
}

std::string tensor_text(const schema::TensorT& tensor, size_t index) {
  return tensor.name.empty() ? fmt::format("tensor {}", index)
                             : fmt::format("tensor '{}'", tensor.name);
}

// Returns the number of elements.
int64_t count_of(const schema::TensorT& tensor, const std::string& text) {
  int64_t count = 1;
  for (const int32_t size : tensor.shape) {
    if (size < 1 || __builtin_mul_overflow(count, int64_t{size}, &count) ||
        count > int64_t{1} << 31) {
      refuse_file(fmt::format("{}: invalid shape [{}]", text,
                              fmt::join(tensor.shape, ",")));
    }
  }
  return count;
}

void check_quantization(const schema::TensorT& tensor,
                        const std::string& text) {
  const auto* q = tensor.quantization.get();
  if (q == nullptr || q->scale.empty()) return;
  for (const float scale : q->scale) {
    if (scale > 0 && std::isfinite(scale)) continue;
    refuse_file(
        fmt::format("{}: scale must be finite and > 0, got {}", text, scale));
  }
  if (!q->zero_point.empty() && q->zero_point.size() != q->scale.size()) {
    refuse_file(fmt::format("{}: {} scales but {} zero points", text,
                            q->scale.size(), q->zero_point.size()));
  }
  const bool is_unsigned = tensor.type == schema::TensorType::UINT8;
  for (const int64_t zero : q->zero_point) {
    const bool bytes = is_unsigned || tensor.type == schema::TensorType::INT8;
    const int64_t low = is_unsigned ? 0 : -128;
    if (!bytes || (zero >= low && zero <= low + 255)) continue;
    refuse_file(fmt::format("{}: zero point must be in [{},{}], got {}", text,
                            low, low + 255, zero));
  }
  if (q->scale.size() == 1) return;
  const auto rank = static_cast<int>(tensor.shape.size());
  const int axis = q->quantized_dimension;
  if (axis < 0 || axis >= rank ||
      std::ssize(q->scale) != tensor.shape[static_cast<size_t>(axis)]) {
    refuse_file(fmt::format("{}: {} scales do not fit axis {} of [{}]", text,
                            q->scale.size(), axis,
                            fmt::join(tensor.shape, ",")));
  }
}

void check_tensors(const schema::ModelT& model,
                   const schema::SubGraphT& graph) {
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    const schema::TensorT& tensor = *graph.tensors[i];
    const std::string text = tensor_text(tensor, i);
    const int64_t count = count_of(tensor, text);
    check_quantization(tensor, text);
    if (tensor.buffer >= model.buffers.size()) {
      refuse_file(fmt::format("{}: buffer {} of {}", text, tensor.buffer,
                              model.buffers.size()));
    }
    const schema::BufferT& buffer = *model.buffers[tensor.buffer];
    if (buffer.offset > 1) {
      throw UnsupportedError("unsupported_value", "tflite model",
                             text + ": its data is behind the FlatBuffer");
    }
    const int64_t bytes = count * element_size(tensor.type);
    if (buffer.data.empty() || bytes == 0) continue;
    if (std::ssize(buffer.data) != bytes) {
      refuse_file(fmt::format("{}: shape [{}] has {} bytes, its buffer {}",
                              text, fmt::join(tensor.shape, ","), bytes,
                              buffer.data.size()));
    }
  }
}

void check_operators(const schema::ModelT& model,
                     const schema::SubGraphT& graph) {
  const auto tensors = std::ssize(graph.tensors);
  std::set<int32_t> known(graph.inputs.begin(), graph.inputs.end());
  for (int32_t i = 0; i < tensors; ++i) {
    const auto& tensor = *graph.tensors[static_cast<size_t>(i)];
    if (!constant_of(model, tensor).empty()) known.insert(i);
  }
  const auto check_index = [&](int32_t tensor, const std::string& where) {
    if (tensor >= 0 && tensor < tensors) return;
    refuse_file(fmt::format("{}: tensor {} of {}", where, tensor, tensors));
  };
  for (size_t i = 0; i < graph.operators.size(); ++i) {
    const schema::OperatorT& op = *graph.operators[i];
    if (op.opcode_index >= model.operator_codes.size()) {
      refuse_file(fmt::format("operator {}: code {} of {}", i, op.opcode_index,
                              model.operator_codes.size()));
    }
    const std::string where =
        fmt::format("operator {} ({})", i, name_of(op_of(model, op)));
    for (const int32_t input : op.inputs) {
      if (input == -1) continue;  // omitted
      check_index(input, where);
      if (known.contains(input)) continue;
      refuse_file(
          fmt::format("{}: its input {} is not computed before", where,
                      tensor_text(*graph.tensors[static_cast<size_t>(input)],
                                  static_cast<size_t>(input))));
    }
    for (const int32_t output : op.outputs) {
      check_index(output, where);
      known.insert(output);
    }
  }
  for (const int32_t tensor : graph.inputs) check_index(tensor, "inputs");
  for (const int32_t tensor : graph.outputs) {
    check_index(tensor, "outputs");
    if (!known.contains(tensor)) {
      refuse_file(fmt::format("output {} is not computed", tensor));
    }
  }
}

}  // namespace

schema::Op op_of(const schema::ModelT& model, const schema::OperatorT& op) {
  const schema::OperatorCodeT& code = *model.operator_codes[op.opcode_index];
  return static_cast<schema::Op>(std::max<int>(
      code.deprecated_builtin_code, static_cast<int>(code.builtin_code)));
}

std::string name_of(schema::Op op) {
  const std::string name = schema::EnumNameOp(op);
  return name.empty() ? fmt::format("operator {}", static_cast<int>(op)) : name;
}

std::string name_of(schema::TensorType type) {
  const std::string name = schema::EnumNameTensorType(type);
  return name.empty() ? fmt::format("type {}", static_cast<int>(type)) : name;
}

int64_t element_size(schema::TensorType type) {
  switch (type) {
    case schema::TensorType::FLOAT32:
    case schema::TensorType::INT32:
      return 4;
    case schema::TensorType::INT8:
    case schema::TensorType::UINT8:
      return 1;
    case schema::TensorType::INT16:
      return 2;
    case schema::TensorType::INT64:
      return 8;
    default:
      return 0;
  }
}

std::string_view constant_of(const schema::ModelT& model,
                             const schema::TensorT& tensor) {
  const auto& data = model.buffers[tensor.buffer]->data;
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

std::shared_ptr<const schema::ModelT> parse_tflite(const std::string& bytes) {
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  constexpr size_t kHeader = 8;
  if (bytes.size() < kHeader || !schema::ModelBufferHasIdentifier(data)) {
    refuse_file("the file identifier TFL3 is missing");
  }
  flatbuffers::Verifier verifier(data, bytes.size());
  if (!schema::VerifyModelBuffer(verifier)) {
    refuse_file("the FlatBuffer is damaged or truncated");
  }
  std::shared_ptr<const schema::ModelT> model = schema::UnPackModel(data);
  if (model->version != 3) {
    refuse_file(fmt::format("version must be 3, got {}", model->version));
  }
  if (model->subgraphs.size() != 1) {
    throw UnsupportedError(
        "unsupported_model", "tflite model",
        fmt::format("must have one graph, got {}", model->subgraphs.size()));
  }
  if (model->buffers.empty()) refuse_file("there are no buffers");
  const schema::SubGraphT& graph = *model->subgraphs[0];
  check_tensors(*model, graph);
  check_operators(*model, graph);
  return model;
}

}  // namespace octet::io::tflite
