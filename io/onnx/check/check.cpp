#include "check.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>

#include <octet/runtime/error.h>

#include "conform.h"
#include "external.h"
#include "file_kind.h"
#include "onnx/graph/graph.h"
#include "onnx/graph/qdq.h"
#include "onnx/graph/tensors.h"
#include "proto_limits.h"
#include "schemas.h"

namespace octet::io {
namespace {

// Joins the lines of a message of onnx, with semicolons between its contexts.
std::string one_line(const std::string& text) {
  constexpr std::string_view kContext = "\n\n==> Context: ";
  std::string line;
  size_t from = 0;
  for (size_t at; (at = text.find(kContext, from)) != text.npos;) {
    line.append(text, from, at - from).append("; ");
    from = at + kContext.size();
  }
  line.append(text, from);
  std::ranges::replace(line, '\n', ' ');
  while (line.ends_with(' ')) line.pop_back();
  return printable(line, 500);
}

// Runs `body`. Converts exceptions of onnx to a FormatError about `subject`.
template <class Body>
void as_format_error(std::string_view subject, Body body) {
  try {
    body();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw FormatError("invalid_graph", std::string(subject),
                      one_line(error.what()));
  }
}

// Checks the graph with onnx's checker. Caps the IR version at the checker's,
// which rejects newer ones, and raises it to 4, before which it demands that
// each initializer is an input.
void check_graph_with_onnx(onnx::ModelProto& model) {
  onnx::checker::CheckerContext context;
  context.set_ir_version(static_cast<int>(
      std::clamp<int64_t>(model.ir_version(), 4, onnx::IR_VERSION)));
  std::unordered_map<std::string, int> imports;
  for (const auto& import : model.opset_import()) {
    imports[import.domain()] = static_cast<int>(import.version());
  }
  context.set_opset_imports(std::move(imports));
  context.set_schema_registry(&schemas());
  const TemporaryShapes stated(*model.mutable_graph());
  const HiddenFloat8 float8(*model.mutable_graph());
  onnx::checker::check_graph(model.graph(), context, {});
}

// Removes the shapes that the file states for outputs. Returns the types with
// these shapes.
std::vector<onnx::TypeProto> remove_output_shapes(onnx::GraphProto& graph) {
  std::vector<onnx::TypeProto> stated;
  for (auto& output : *graph.mutable_output()) {
    stated.push_back(output.type());
    if (output.type().has_tensor_type()) {
      output.mutable_type()->mutable_tensor_type()->clear_shape();
    }
  }
  return stated;
}

// Adds an output's sizes from the file if shape inference found none. Warns if
// the rank or other sizes differ from the inferred shape.
void merge_output_sizes(const onnx::TypeProto& stated,
                        onnx::ValueInfoProto& output) {
  if (!stated.has_tensor_type() || !stated.tensor_type().has_shape()) return;
  auto& type = *output.mutable_type()->mutable_tensor_type();
  const auto& sizes = stated.tensor_type().shape();
  if (!type.has_shape()) {
    *type.mutable_shape() = sizes;
    return;
  }
  const std::string inferred = to_string(shape_of(output.type()));
  const std::string in_file = to_string(shape_of(stated));
  const bool same_rank = type.shape().dim_size() == sizes.dim_size();
  bool contradicts = !same_rank;
  for (int i = 0; same_rank && i < sizes.dim_size(); ++i) {
    auto& dim = *type.mutable_shape()->mutable_dim(i);
    if (!dim.has_dim_value()) {
      dim = sizes.dim(i);
    } else {
      contradicts =
          contradicts || (sizes.dim(i).has_dim_value() &&
                          sizes.dim(i).dim_value() != dim.dim_value());
    }
  }
  if (!contradicts) return;
  warn("shape_ignored", fmt::format("output '{}'", printable(output.name())),
       fmt::format("the file states {}, but its nodes compute {}; the stated "
                   "sizes are ignored",
                   in_file, inferred));
}

}  // namespace

// Infers shapes. If the sizes stated in the file contradict the inference,
// tries again without the sizes of intermediate values, then without the sizes
// of outputs. Two causes of a contradiction are harmless: writers that store
// the sizes of an earlier version of the graph, and onnx's inference, which
// overestimates the number of windows of a pooling with ceil_mode.
void infer_shapes(onnx::ModelProto& model) {
  const auto infer = [&model] {
    // onnx's schemas lack types that later opsets allow.
    const int64_t opset = opset_of(model);
    const bool check_type = opset <= kLastOpsetOfOnnx;
    const bool strict = can_infer_all(model.graph(), opset);
    const bool data_propagation = true;
    onnx::shape_inference::InferShapes(model, &schemas(),
                                       {check_type, strict, data_propagation});
  };
  onnx::GraphProto& graph = *model.mutable_graph();
  try {
    return infer();
  } catch (const std::runtime_error&) {
    graph.clear_value_info();
  }
  try {
    return infer();
  } catch (const std::runtime_error&) {
    graph.clear_value_info();
  }
  const std::vector<onnx::TypeProto> stated = remove_output_shapes(graph);
  infer();
  for (int i = 0; i < graph.output_size(); ++i) {
    merge_output_sizes(stated[static_cast<size_t>(i)],
                       *graph.mutable_output(i));
  }
}

onnx::ModelProto parse_onnx(const std::string& bytes) {
  onnx::ModelProto model;
  const bool parsed =
      bytes.size() <= std::numeric_limits<int32_t>::max() &&
      model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  // Protobuf parses an empty file as an empty model, and messages of other
  // programs as a model with unknown fields.
  if (!parsed || !model.has_graph()) {
    refuse_other_kind(kOnnxFile, bytes, {FileKind::onnx});
  }
  if (!parsed) {
    throw FormatError("malformed_file", "ONNX model",
                      "cannot be parsed; the file is truncated, damaged or not "
                      "an ONNX file");
  }
  return model;
}

onnx::ModelProto read_onnx(const std::filesystem::path& path, int64_t limit,
                           PackedConstants* packed) {
  const std::string bytes = read_file_as(kOnnxFile, path);
  return with_context(
      [&] { return fmt::format("in file '{}'", path.string()); },
      [&] {
        onnx::ModelProto model = parse_onnx(bytes);
        read_external_data(model, path.parent_path(), limit);
        check_onnx(model, packed);
        return model;
      });
}

void check_onnx_without_qdq(onnx::ModelProto& model, PackedConstants* packed) {
  PackedConstants constants = conform(model);
  if (packed != nullptr) *packed = std::move(constants);
  check_bounds(model);
  as_format_error("ONNX checker", [&] { check_graph_with_onnx(model); });
  check_arity(model.graph(), opset_of(model));
  as_format_error("ONNX shape inference", [&] { infer_shapes(model); });
}

void check_onnx(onnx::ModelProto& model, PackedConstants* packed) {
  check_onnx_without_qdq(model, packed);
  if (std::ranges::none_of(model.graph().node(), [](const auto& node) {
        return is_quantize(node) || is_dequantize(node);
      })) {
    return;
  }
  OnnxGraph graph(std::move(model));
  check_qdq(graph);
  model = std::move(graph).to_model();
}

void expect_below_2_gib(size_t bytes) {
  if (bytes > std::numeric_limits<int32_t>::max()) {
    throw UnsupportedError(
        "size_limit", "ONNX export",
        fmt::format("the model must be below 2 GiB, got {} bytes; export "
                    "writes no external data",
                    bytes));
  }
}

std::string serialize_onnx(const onnx::ModelProto& model) {
  const size_t size = model.ByteSizeLong();
  expect_below_2_gib(size);
  std::string bytes;
  bytes.reserve(size);
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  if (!model.SerializeToCodedStream(&coded)) {
    throw InternalError("internal", "ONNX export",
                        "protobuf cannot serialize the model");
  }
  coded.Trim();
  return bytes;
}

}  // namespace octet::io
