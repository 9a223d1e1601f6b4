// Files of one node for every operator of the checker: inputs of ranks 0 to 5,
// known and unknown, constant or not, attributes present or absent. Each gives
// an Error or an output, but no crash and no other exception.
#include <cstdint>
#include <exception>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <onnx/defs/schema.h>

#include <octet/io/lint.h>
#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/runtime/error.h>

#include "mutator.h"
#include "onnx/check/schemas.h"
#include "onnx_models.h"

namespace octet::io {
namespace {

using onnx::OpSchema;
using onnx::TensorProto;

struct FuzzedType {
  const char* name;
  int32_t type;
};
constexpr FuzzedType kFuzzedTypes[] = {{"tensor(float)", TensorProto::FLOAT},
                                       {"tensor(int64)", TensorProto::INT64},
                                       {"tensor(int8)", TensorProto::INT8},
                                       {"tensor(uint8)", TensorProto::UINT8},
                                       {"tensor(int32)", TensorProto::INT32},
                                       {"tensor(bool)", TensorProto::BOOL}};

class NodeFuzzer {
 public:
  explicit NodeFuzzer(uint64_t seed) : random_(seed) {}

  size_t below(size_t end) { return random_() % end; }

  onnx::ModelProto model(const std::string& op, int64_t opset) {
    const OpSchema& schema =
        *schemas().GetSchema(op, static_cast<int>(opset), "");
    onnx::ModelProto model = model_of("g (float[1] unread) => (float y) {}");
    model.mutable_opset_import(0)->set_version(opset);
    model.set_ir_version(opset < 15 ? 7 : 8);
    auto& graph = *model.mutable_graph();
    onnx::NodeProto& node = *graph.add_node();
    node.set_op_type(op);
    const int most = std::min(schema.max_input(), schema.min_input() + 4);
    int count = schema.min_input() + static_cast<int>(below(static_cast<size_t>(
                                         most - schema.min_input() + 1)));
    if (below(20) == 0) count = static_cast<int>(below(3));
    for (int i = 0; i < count; ++i) {
      node.add_input(below(20) == 0 ? "" : add_input(graph, schema, i));
    }
    int outputs = std::min(schema.max_output(), 1 + static_cast<int>(below(3)));
    if (below(40) == 0) outputs = 0;
    for (int i = 0; i < outputs; ++i) {
      node.add_output(i == 0 ? "y" : fmt::format("y{}", i));
    }
    for (const auto& [name, attribute] : schema.attributes()) {
      if (below(attribute.required ? 10 : 2) == 0) continue;
      add_attribute(node, name, attribute.type);
    }
    auto& output = *graph.mutable_output(0);
    output.clear_type();
    auto& type = *output.mutable_type()->mutable_tensor_type();
    type.set_elem_type(type_of(schema, 0));
    return model;
  }

 private:
  int32_t type_of(const OpSchema& schema, int input) {
    if (schema.inputs().empty()) return TensorProto::FLOAT;
    const auto index =
        std::min(static_cast<size_t>(input), schema.inputs().size() - 1);
    std::vector<int32_t> fitting;
    for (const auto* name : schema.inputs()[index].GetTypes()) {
      for (const auto& [known, type] : kFuzzedTypes) {
        if (*name == known) fitting.push_back(type);
      }
    }
    if (fitting.empty()) return TensorProto::FLOAT;
    for (const int32_t type : fitting) {
      if (type == TensorProto::FLOAT && below(8) != 0) return type;
    }
    return fitting[below(fitting.size())];
  }

  std::string add_input(onnx::GraphProto& graph, const OpSchema& schema,
                        int input) {
    const std::string name = fmt::format("x{}", input);
    const int32_t type = type_of(schema, input);
    const size_t rank = below(3) == 0 ? 4 : below(6);
    if (below(3) == 0) {
      auto& tensor = *graph.add_initializer();
      tensor.set_name(name);
      tensor.set_data_type(type);
      int64_t count = 1;
      for (size_t d = 0; d < rank; ++d) {
        tensor.add_dims(static_cast<int64_t>(below(4)));
        count *= tensor.dims(static_cast<int>(d));
      }
      for (int64_t i = 0; i < count; ++i) add_value(tensor);
      return name;
    }
    auto& value = *graph.add_input();
    value.set_name(name);
    auto& tensor = *value.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    if (below(8) == 0) return name;  // of unknown rank
    tensor.mutable_shape();
    for (size_t d = 0; d < rank; ++d) {
      auto& dim = *tensor.mutable_shape()->add_dim();
      switch (below(8)) {
        case 0:
          break;
        case 1:
          dim.set_dim_param("n");
          break;
        case 2:
          dim.set_dim_value(below(4) == 0 ? INT32_MAX : 0);
          break;
        default:
          dim.set_dim_value(1 + static_cast<int64_t>(below(4)));
      }
    }
    return name;
  }

  int64_t small() { return static_cast<int64_t>(below(9)) - 3; }

  void add_value(TensorProto& tensor) {
    switch (tensor.data_type()) {
      case TensorProto::FLOAT:
        tensor.add_float_data(static_cast<float>(small()));
        break;
      case TensorProto::INT64:
        tensor.add_int64_data(below(50) == 0 ? INT64_MAX : small());
        break;
      default:
        tensor.add_int32_data(static_cast<int32_t>(below(3)));
    }
  }

  void add_attribute(onnx::NodeProto& node, const std::string& name,
                     onnx::AttributeProto::AttributeType type) {
    static constexpr const char* kWords[] = {
        "SAME_UPPER", "SAME_LOWER", "VALID",  "NOTSET", "constant",
        "reflect",    "nearest",    "linear", "DCR",    "add"};
    onnx::AttributeProto attribute;
    attribute.set_name(name);
    attribute.set_type(type);
    switch (type) {
      case onnx::AttributeProto::INT:
        attribute.set_i(below(12) == 0 ? INT64_MIN : small());
        break;
      case onnx::AttributeProto::INTS:
        for (size_t i = below(7); i > 0; --i) {
          attribute.add_ints(1 + static_cast<int64_t>(below(3)));
        }
        break;
      case onnx::AttributeProto::FLOAT:
        attribute.set_f(static_cast<float>(small()));
        break;
      case onnx::AttributeProto::FLOATS:
        for (size_t i = below(5); i > 0; --i) attribute.add_floats(1);
        break;
      case onnx::AttributeProto::STRING:
        attribute.set_s(kWords[below(std::size(kWords))]);
        break;
      default:
        return;
    }
    *node.add_attribute() = attribute;
  }

  std::mt19937_64 random_;
};

std::vector<std::string> known_operators(int64_t opset) {
  std::vector<std::string> names;
  for (const auto& schema :
       onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    onnx::NodeProto node;
    node.set_op_type(schema.Name());
    if (!schema.domain().empty() || !is_known(node, opset)) continue;
    if (names.empty() || names.back() != schema.Name()) {
      names.push_back(schema.Name());
    }
  }
  return names;
}

/// Returns an exception from `body` other than Error, or empty.
template <class Body>
std::string foreign_exception(const Body& body) {
  try {
    body();
  } catch (const Error&) {
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

void run_fuzzed(const std::string& bytes) {
  constexpr int64_t kMostElements = 1 << 16;  // of an input
  const FileLimits limits{.memory_limit = 64 << 20, .time_limit = 1};
  const OnnxReference model = onnx_reference_from_bytes(bytes, limits);
  std::vector<Tensor> inputs;
  for (const OnnxTensorInfo& info : model.inputs()) {
    if (info.type != "float32" || !info.shape) return;
    std::vector<int64_t> dims;
    int64_t size = 1;
    for (const OnnxDim& dim : *info.shape) {
      dims.push_back(
          std::holds_alternative<int64_t>(dim) ? std::get<int64_t>(dim) : 2);
      if (dims.back() > kMostElements) return;
      size *= dims.back();
      if (size > kMostElements) return;
    }
    if (dims.size() > Shape::kMaxRank) return;
    inputs.push_back(Tensor::zeros(Shape(std::span<const int64_t>(dims))));
  }
  (void)model.predict(inputs);
}

void expect_no_foreign_exception(const std::string& bytes) {
  const FileLimits limits{.memory_limit = 64 << 20, .time_limit = 1};
  EXPECT_EQ(foreign_exception([&] { run_fuzzed(bytes); }), "");
  EXPECT_EQ(
      foreign_exception([&] { (void)from_onnx(bytes, {.limits = limits}); }),
      "");
  EXPECT_EQ(foreign_exception(
                [&] { (void)lint_onnx_bytes(bytes, {.limits = limits}); }),
            "");
  EXPECT_EQ(foreign_exception(
                [&] { (void)fix_onnx_bytes(bytes, {.limits = limits}); }),
            "");
}

void fuzz_operators(uint64_t least_runs) {
  static constexpr int64_t kOpsets[] = {1, 5, 7, 9, 10, 11, 12, 13, 17, 18, 21};
  const WarningSink sink = set_warning_sink([](const Warning&) {});
  std::vector<std::vector<std::string>> operators;
  for (const int64_t opset : kOpsets) {
    operators.push_back(known_operators(opset));
    ASSERT_GT(operators.back().size(), 50u);
  }
  const FuzzRuns runs(least_runs);
  const char* first = std::getenv("OCTET_FUZZ_SEED");
  const uint64_t seed =
      first == nullptr ? 0 : std::strtoull(first, nullptr, 10);
  for (uint64_t run = 0; runs.more(run) && !::testing::Test::HasFailure();
       ++run) {
    NodeFuzzer fuzzer(seed + run);
    const size_t at = fuzzer.below(std::size(kOpsets));
    // Cycles through all operators.
    const std::string& op = operators[at][run % operators[at].size()];
    const onnx::ModelProto model = fuzzer.model(op, kOpsets[at]);
    SCOPED_TRACE(fmt::format("seed {}, {}", seed + run, model.DebugString()));
    expect_no_foreign_exception(model.SerializeAsString());
  }
  set_warning_sink(sink);
}

TEST(OnnxOperatorFuzz, EveryOperatorAcceptsOrRejectsInputsOfAnyRank) {
  fuzz_operators(400);
}
TEST(SlowOnnxOperatorFuzz, EveryOperatorAcceptsOrRejectsInputsOfAnyRank) {
  fuzz_operators(4000);
}

// Operators missing in an opset are unknown to the checker, but not to the
// rules of lint.
TEST(OnnxOperatorFuzz, OperatorsOfOtherOpsetsMayLackTheirInputs) {
  const WarningSink sink = set_warning_sink([](const Warning&) {});
  for (const std::string& op : known_operators(21)) {
    for (const int inputs : {0, 1, 2}) {
      for (const int outputs : {0, 1}) {
        onnx::ModelProto model = model_of("g (float[3] x) => (float[3] y) {}");
        model.mutable_opset_import(0)->set_version(1);
        onnx::NodeProto& node = *model.mutable_graph()->add_node();
        node.set_op_type(op);
        for (int i = 0; i < inputs; ++i) node.add_input("x");
        for (int i = 0; i < outputs; ++i) node.add_output("y");
        SCOPED_TRACE(
            fmt::format("{} of {} inputs, {} outputs", op, inputs, outputs));
        expect_no_foreign_exception(model.SerializeAsString());
      }
    }
  }
  set_warning_sink(sink);
}

}  // namespace
}  // namespace octet::io
