// TfliteModel: executes the operators of a file in order.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <octet/io/tflite.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "node.h"
#include "tflite/file/file.h"

namespace octet::io::tflite {
namespace {

struct KernelRow {
  schema::Op op;
  Kernel run;
};
constexpr KernelRow kKernels[] = {
    {schema::Op::ADD, run_add},
    {schema::Op::AVERAGE_POOL_2D, run_average_pool},
    {schema::Op::BATCH_MATMUL, run_batch_matmul},
    {schema::Op::CONCATENATION, run_concatenation},
    {schema::Op::CONV_2D, run_conv},
    {schema::Op::DEPTHWISE_CONV_2D, run_depthwise_conv},
    {schema::Op::DEQUANTIZE, run_dequantize},
    {schema::Op::FULLY_CONNECTED, run_fully_connected},
    {schema::Op::GATHER, run_gather},
    {schema::Op::HARD_SWISH, run_hard_swish},
    {schema::Op::LEAKY_RELU, run_leaky_relu},
    {schema::Op::LOGISTIC, run_logistic},
    {schema::Op::MAXIMUM, run_maximum},
    {schema::Op::MAX_POOL_2D, run_max_pool},
    {schema::Op::MEAN, run_mean},
    {schema::Op::MINIMUM, run_minimum},
    {schema::Op::MUL, run_mul},
    {schema::Op::PAD, run_pad},
    {schema::Op::PADV2, run_pad},
    {schema::Op::PRELU, run_prelu},
    {schema::Op::QUANTIZE, run_quantize},
    {schema::Op::RELU, run_relu},
    {schema::Op::RELU6, run_relu6},
    {schema::Op::RESHAPE, run_reshape},
    {schema::Op::RESIZE_BILINEAR, run_resize_bilinear},
    {schema::Op::RESIZE_NEAREST_NEIGHBOR, run_resize_nearest},
    {schema::Op::SOFTMAX, run_softmax},
    {schema::Op::SPLIT, run_split},
    {schema::Op::STRIDED_SLICE, run_strided_slice},
    {schema::Op::SUB, run_sub},
    {schema::Op::SUM, run_sum},
    {schema::Op::TANH, run_tanh},
    {schema::Op::TRANSPOSE, run_transpose},
    {schema::Op::TRANSPOSE_CONV, run_transpose_conv},
};

std::optional<DType> dtype_of(schema::TensorType type) {
  switch (type) {
    case schema::TensorType::FLOAT32:
      return DType::f32;
    case schema::TensorType::INT8:
      return DType::i8;
    case schema::TensorType::UINT8:
      return DType::u8;
    case schema::TensorType::INT16:
      return DType::i16;
    case schema::TensorType::INT32:
      return DType::i32;
    case schema::TensorType::INT64:
      return DType::i64;
    default:
      return std::nullopt;
  }
}

// Constant axes, sizes and indices of int64 run as int32; biases, which have a
// scale, do not.
bool is_narrowed(const schema::ModelT& model, const schema::TensorT& tensor) {
  return tensor.type == schema::TensorType::INT64 &&
         Node::quant_of(tensor).scale == 0 &&
         !constant_of(model, tensor).empty();
}

Shape stored_shape(const schema::TensorT& tensor) {
  const std::vector<int64_t> sizes(tensor.shape.begin(), tensor.shape.end());
  return Shape(std::span<const int64_t>(sizes));
}

std::optional<Tensor> stored_constant(const schema::ModelT& model,
                                      const schema::TensorT& tensor) {
  const std::string_view data = constant_of(model, tensor);
  const std::optional<DType> dtype = dtype_of(tensor.type);
  if (is_narrowed(model, tensor)) {
    Tensor value = Tensor::zeros(stored_shape(tensor), DType::i32);
    const auto to = value.data<int32_t>();
    for (size_t i = 0; i < to.size(); ++i) {
      int64_t wide = 0;
      std::memcpy(&wide, data.data() + i * sizeof(wide), sizeof(wide));
      if (!std::in_range<int32_t>(wide)) {
        throw UnsupportedError("unsupported_value",
                               fmt::format("tensor '{}'", tensor.name),
                               fmt::format("must fit in int32, got {}", wide));
      }
      to[i] = static_cast<int32_t>(wide);
    }
    return value;
  }
  if (data.empty() || !dtype) return std::nullopt;
  Tensor value = Tensor::zeros(stored_shape(tensor), *dtype);
  std::memcpy(value.raw(), data.data(), data.size());
  return value;
}

TfliteTensorInfo info_of(const schema::TensorT& tensor) {
  const NodeQuant quant = Node::quant_of(tensor);
  return {.name = tensor.name,
          .dtype = *dtype_of(tensor.type),
          .shape = stored_shape(tensor),
          .scale = quant.scale,
          .zero_point = quant.zero_point};
}

}  // namespace

Kernel find_kernel(schema::Op op) {
  const auto* found = std::ranges::find(kKernels, op, &KernelRow::op);
  return found == std::end(kKernels) ? nullptr : found->run;
}

}  // namespace octet::io::tflite

namespace octet::io {

using namespace tflite;  // NOLINT: a source file

struct TfliteModel::File {
  std::shared_ptr<const schema::ModelT> model;
  std::vector<TfliteTensorInfo> inputs, outputs;
  std::vector<TfliteValue> values;
  std::vector<int32_t> tensors;  // of `values`
  std::map<int32_t, Tensor> constants;

  const schema::SubGraphT& graph() const { return *model->subgraphs[0]; }
  std::map<int32_t, Tensor> run(std::span<const Tensor> x,
                                TfliteRounding rounding) const;
};

namespace {

TfliteRounding rounding_of(schema::Op op, TfliteRounding rounding) {
  if (rounding != TfliteRounding::litert) return rounding;
  return op == schema::Op::FULLY_CONNECTED ? TfliteRounding::once
                                           : TfliteRounding::twice;
}

// Reports all operators and element types that do not run.
void check_runs(const schema::ModelT& model) {
  const schema::SubGraphT& graph = *model.subgraphs[0];
  std::set<std::string> unknown;
  const auto check_types = [&](const std::vector<int32_t>& list,
                               const std::string& of, bool constants) {
    for (const int32_t index : list) {
      if (index < 0) continue;
      const schema::TensorT& tensor =
          *graph.tensors[static_cast<size_t>(index)];
      if (dtype_of(tensor.type) || (constants && is_narrowed(model, tensor))) {
        continue;
      }
      unknown.insert(fmt::format("{} of {}", name_of(tensor.type), of));
    }
  };
  check_types(graph.inputs, "an input", false);
  check_types(graph.outputs, "an output", false);
  for (const auto& op : graph.operators) {
    const schema::Op code = op_of(model, *op);
    if (find_kernel(code) == nullptr) unknown.insert(name_of(code));
    if (op->outputs.size() != 1 && code != schema::Op::SPLIT) {
      unknown.insert(
          fmt::format("{} with {} outputs", name_of(code), op->outputs.size()));
    }
    check_types(op->inputs, name_of(code), true);
    check_types(op->outputs, name_of(code), false);
  }
  if (unknown.empty()) return;
  throw UnsupportedError(
      "unsupported_operator", "tflite model",
      fmt::format("cannot run {}", fmt::join(unknown, ", ")));
}

}  // namespace

TfliteModel::TfliteModel(std::shared_ptr<const File> file)
    : file_(std::move(file)) {}

const std::vector<TfliteTensorInfo>& TfliteModel::inputs() const {
  return file_->inputs;
}
const std::vector<TfliteTensorInfo>& TfliteModel::outputs() const {
  return file_->outputs;
}

const std::vector<TfliteValue>& TfliteModel::values() const {
  return file_->values;
}

std::vector<size_t> TfliteModel::output_values() const {
  std::vector<size_t> result;
  const auto& tensors = file_->tensors;
  for (const int32_t output : file_->graph().outputs) {
    // The last one counts.
    const auto found = std::find(tensors.rbegin(), tensors.rend(), output);
    if (found == tensors.rend()) {
      throw UnsupportedError("unsupported_value", "tflite model",
                             fmt::format("output {} is a constant", output));
    }
    result.push_back(static_cast<size_t>(tensors.rend() - found) - 1);
  }
  return result;
}

std::vector<Tensor> TfliteModel::trace(std::span<const Tensor> inputs,
                                       TfliteRounding rounding) const {
  const std::map<int32_t, Tensor> values = file_->run(inputs, rounding);
  std::vector<Tensor> result;
  for (const int32_t tensor : file_->tensors) {
    result.push_back(values.at(tensor));
  }
  return result;
}

std::vector<Tensor> TfliteModel::predict(std::span<const Tensor> inputs,
                                         TfliteRounding rounding) const {
  const std::map<int32_t, Tensor> values = file_->run(inputs, rounding);
  std::vector<Tensor> outputs;
  for (const int32_t output : file_->graph().outputs) {
    outputs.push_back(values.at(output));
  }
  return outputs;
}

std::map<int32_t, Tensor> TfliteModel::File::run(
    std::span<const Tensor> x, TfliteRounding rounding) const {
  if (x.size() != inputs.size()) {
    throw ValueError(
        "count_mismatch", "tflite model",
        fmt::format("needs {} inputs, got {}", inputs.size(), x.size()));
  }
  std::map<int32_t, Tensor> made = constants;
  for (size_t i = 0; i < x.size(); ++i) {
    const TfliteTensorInfo& info = inputs[i];
    if (x[i].dtype() != info.dtype) {
      throw ValueError("dtype_mismatch", fmt::format("input '{}'", info.name),
                       fmt::format("must be {}, got {}", to_string(info.dtype),
                                   to_string(x[i].dtype())));
    }
    const Shape& shape = x[i].shape();
    if (shape.rank() != info.shape.rank() || shape.rank() == 0 ||
        shape.with(0, 1) != info.shape.with(0, 1)) {
      throw ShapeError(
          "shape_mismatch", fmt::format("input '{}'", info.name),
          fmt::format("must be {}, got {}",
                      info.shape.with(0, Shape::kAnySize).to_string(),
                      shape.to_string()));
    }
    made[graph().inputs[i]] = x[i];
  }
  for (size_t i = 0; i < graph().operators.size(); ++i) {
    const schema::OperatorT& op = *graph().operators[i];
    const schema::Op code = op_of(*model, op);
    for (size_t k = 0; k < op.outputs.size(); ++k) {
      Node node{.op = op,
                .name = fmt::format("operator {} ({})", i, name_of(code)),
                .inputs = {},
                .infos = {},
                .output = *graph().tensors[static_cast<size_t>(op.outputs[k])],
                .output_index = k,
                .rounding = rounding_of(code, rounding),
                .runtime = rounding};
      for (const int32_t input : op.inputs) {
        node.inputs.push_back(input < 0 ? nullptr : &made.at(input));
        node.infos.push_back(
            input < 0 ? nullptr
                      : graph().tensors[static_cast<size_t>(input)].get());
      }
      made[op.outputs[k]] = find_kernel(code)(node);
    }
  }
  return made;
}

Tensor TfliteModel::predict(const Tensor& input,
                            TfliteRounding rounding) const {
  if (file_->inputs.size() != 1 || file_->outputs.size() != 1) {
    throw ValueError("count_mismatch", "tflite model",
                     fmt::format("has {} inputs and {} outputs",
                                 file_->inputs.size(), file_->outputs.size()));
  }
  return predict(std::span(&input, 1), rounding)[0];
}

TfliteModel tflite_from_bytes(const std::string& bytes) {
  auto file = std::make_shared<TfliteModel::File>();
  file->model = parse_tflite(bytes);
  check_runs(*file->model);
  const schema::SubGraphT& graph = file->graph();
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    const schema::TensorT& tensor = *graph.tensors[i];
    if (std::optional<Tensor> value = stored_constant(*file->model, tensor)) {
      file->constants.emplace(static_cast<int32_t>(i), std::move(*value));
    }
  }
  for (const int32_t input : graph.inputs) {
    file->inputs.push_back(info_of(*graph.tensors[static_cast<size_t>(input)]));
  }
  for (const int32_t output : graph.outputs) {
    file->outputs.push_back(
        info_of(*graph.tensors[static_cast<size_t>(output)]));
  }
  std::map<int32_t, size_t> places;
  const auto add = [&](int32_t tensor, TfliteValue value) {
    places[tensor] = file->values.size();
    file->tensors.push_back(tensor);
    file->values.push_back(std::move(value));
  };
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    add(graph.inputs[i], {.tensor = file->inputs[i], .op = ""});
  }
  for (const auto& op : graph.operators) {
    std::vector<size_t> inputs;
    for (const int32_t input : op->inputs) {
      const auto found = places.find(input);
      if (found != places.end()) inputs.push_back(found->second);
    }
    for (const int32_t output : op->outputs) {
      add(output,
          {.tensor = info_of(*graph.tensors[static_cast<size_t>(output)]),
           .op = name_of(op_of(*file->model, *op)),
           .inputs = inputs});
    }
  }
  return TfliteModel(std::move(file));
}

TfliteModel load_tflite_reference(const std::filesystem::path& path) {
  return with_context(
      [&] { return fmt::format("in file '{}'", path.string()); },
      [&] { return tflite_from_bytes(read_file(path)); });
}

}  // namespace octet::io
