// The rows of the pattern table, each with generated files: in every order,
// nesting and alternative of its term; with a changed number; with an
// intermediate value that others consume. The reference implementation and
// closed forms judge the numbers; tests/oracle/compare_import.py compares the
// forms of exporters with ONNX Runtime.
#include <cmath>
#include <functional>
#include <numbers>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/layers/layers.h>
#include <octet/runtime/error.h>

#include "onnx_pattern_files.h"
#include "support.h"

namespace octet::io {
namespace {

onnx::TensorProto random_tensor(const std::vector<int64_t>& dims) {
  Tensor values{Shape(std::span<const int64_t>(dims))};
  Rng(7).fill_uniform(values, 0.5f, 2);
  return float_tensor("", dims, {values.f32().begin(), values.f32().end()});
}
onnx::TensorProto integer_list(const std::vector<int64_t>& values) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(static_cast<int64_t>(values.size()));
  for (const int64_t value : values) tensor.add_int64_data(value);
  return tensor;
}
/// 5 queries and 5 keys: whether each key is, or is not, after its query.
onnx::TensorProto bool_mask(bool later) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::BOOL);
  for (const int64_t dim : {5, 5}) tensor.add_dims(dim);
  for (int i = 0; i < 25; ++i) {
    tensor.add_int32_data((i % 5 > i / 5) == later ? 1 : 0);
  }
  return tensor;
}
onnx::TensorProto float_mask(float hidden) {
  std::vector<float> values(25, 0);
  for (size_t i = 0; i < 25; ++i) {
    if (i % 5 > i / 5) values[i] = hidden;
  }
  return float_tensor("", {1, 1, 5, 5}, values);
}

/// Inputs and constants by row; other rows have x [N,5,6].
PatternSample sample_for(const std::string& row) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const bool groups = row.find("GroupNorm") != std::string::npos;
  if (row == "attention") {
    return {.inputs = {{"query", {2, 5, 4}},
                       {"key", {2, 4, 5}},
                       {"value", {2, 5, 3}}},
            .constants = {{"factor", float_tensor("", {}, {0.3f})},
                          {"divisor", float_tensor("", {1}, {1.7f})},
                          {"mask", float_mask(-1e9f)},
                          {"visible", bool_mask(false)},
                          {"hidden", bool_mask(true)},
                          {"low", float_tensor("", {}, {-kInfinity})}}};
  }
  if (row == "NotEqual") return {.inputs = {{"a", {6}}, {"b", {6}}}};
  if (row == "bias of Conv") {
    return {.inputs = {{"x", {3, 8, 7}}},
            .constants = {{"weight", random_tensor({4, 3, 3, 3})},
                          {"bias", random_tensor({4, 1, 1})}}};
  }
  if (row == "bias of ConvTranspose") {
    return {.inputs = {{"x", {3, 8, 7}}},
            .constants = {{"weight", random_tensor({3, 4, 2, 2})},
                          {"bias", random_tensor({1, 4, 1, 1})}}};
  }
  if (row == "InstanceNorm" || groups) {
    return {.inputs = {{"x", {4, 3, 5}}},
            .constants = {{"factor", random_tensor({4, 1, 1})},
                          {"offset", random_tensor({4, 1, 1})},
                          {"split", integer_list({0, 2, -1})},
                          {"ones", float_tensor("", {2}, {1, 1})},
                          {"zeros", float_tensor("", {2}, {0, 0})},
                          {"shape", integer_list({-1, 4, 3, 5})}},
            .scalars = {{"epsilon", 0.01f}},
            .axes = {2, 3}};
  }
  return {.inputs = {{"x", {5, 6}}},
          .constants = {{"factor", random_tensor({6})},
                        {"offset", random_tensor({6})},
                        {"weight", random_tensor({6, 4})},
                        {"bias", random_tensor({4})}},
          .scalars = {{"epsilon", 0.01f}, {"alpha", 0.3f}, {"beta", 0.4f}},
          .shape_of = "sizes"};
}

struct Imported {
  std::vector<Tensor> inputs;  ///< in the file's order of axes
  std::vector<Tensor> got, expected;
  bool matched = false;  ///< the nodes of the term are one layer
};

Tensor in_file_order(const Tensor& y, const std::vector<int>& axes) {
  std::vector<int> back(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    back[static_cast<size_t>(axes[i])] = static_cast<int>(i);
  }
  return y.transposed(back);
}

Imported import_and_run(const onnx::ModelProto& file, int nodes,
                        const Pattern& row) {
  const TempFolder folder;
  save(file, folder / "m.onnx");
  const OnnxImport read = import_onnx(folder / "m.onnx");
  Imported result;
  const std::string op =
      std::string(row.result).substr(0, std::string(row.result).find('('));
  result.matched = true;
  for (int i = 0; i < nodes; ++i) {
    const OnnxNodeImport& node = read.report.nodes[static_cast<size_t>(i)];
    if (node.op == "Shape") continue;
    const auto& last = read.report.nodes[static_cast<size_t>(nodes - 1)];
    result.matched &= node.layer == last.layer && !node.layer.empty() &&
                      (i == nodes - 1 || node.note == "part of " + op);
  }
  std::vector<Tensor> arranged;
  for (size_t i = 0; i < read.interface.inputs.size(); ++i) {
    const std::vector<int>& axes = read.interface.inputs[i].axes;
    const Shape sample = read.model.inputs()[i].shape().with(0, 3);
    Tensor x = Tensor(sample);
    Rng(i).fill_uniform(x, -4, 4);
    result.inputs.push_back(in_file_order(x, axes));
    arranged.push_back(std::move(x));
  }
  const auto y = read.model.predict(arranged);
  for (size_t i = 0; i < y.size(); ++i) {
    result.got.push_back(in_file_order(y[i], read.interface.outputs[i].axes));
  }
  result.expected = onnx_reference_from_bytes(file.SerializeAsString())
                        .predict(std::span<const Tensor>(result.inputs));
  return result;
}

void expect_equal(const Imported& run, const onnx::ModelProto& file) {
  ASSERT_EQ(run.got.size(), run.expected.size());
  for (size_t i = 0; i < run.got.size(); ++i) {
    const auto got = run.got[i].f32(), expected = run.expected[i].f32();
    ASSERT_EQ(run.got[i].shape(), run.expected[i].shape());
    float largest = 1;
    for (const float v : expected) {
      if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
    }
    for (size_t at = 0; at < got.size(); ++at) {
      if (std::isnan(got[at]) && std::isnan(expected[at])) continue;
      if (got[at] == expected[at]) continue;
      ASSERT_LE(std::abs(got[at] - expected[at]), 1e-5f * largest)
          << at << " of output " << i << " of " << file.DebugString();
    }
  }
}

class OnnxPatterns : public ::testing::TestWithParam<const char*> {
 protected:
  const Pattern& row() const { return pattern_row(GetParam()); }
};

TEST_P(OnnxPatterns, MatchInEverySpelling) {
  const PatternSample sample = sample_for(GetParam());
  const auto check = [&](Choices& choices) {
    PatternFile writer(sample, choices);
    const onnx::ModelProto file = writer.write(row().term);
    const Imported run = import_and_run(file, writer.nodes(), row());
    EXPECT_TRUE(run.matched) << file.DebugString();
    expect_equal(run, file);
    return !HasFailure();
  };
  Choices all;
  int count = 1;
  bool more = true;
  for (; count <= 60 && more; ++count) {
    if (!check(all)) return;
    more = all.advance();
  }
  if (!more) return;
  Rng rng(3);
  Choices random;
  random.draw_from(rng);
  for (int i = 0; i < 60; ++i) {
    if (!check(random)) return;
  }
}

// 1 % more, or 0.01 for 0.
TEST_P(OnnxPatterns, RequireTheirNumbers) {
  const PatternSample sample = sample_for(GetParam());
  int numbers = 1;
  for (int i = 0; i < numbers; ++i) {
    Choices first;
    PatternFile writer(sample, first);
    writer.changed_number = i;
    const onnx::ModelProto file = writer.write(row().term);
    numbers = writer.numbers();
    if (numbers == 0) return;
    const Imported run = import_and_run(file, writer.nodes(), row());
    EXPECT_FALSE(run.matched) << file.DebugString();
    expect_equal(run, file);
  }
}

TEST_P(OnnxPatterns, LeaveValuesThatOthersConsume) {
  const PatternSample sample = sample_for(GetParam());
  int nodes = 2;
  for (int i = 0; i < nodes - 1; ++i) {
    for (const bool consumed : {false, true}) {
      Choices first;
      PatternFile writer(sample, first);
      (void)writer.write(row().term);
      nodes = writer.nodes();
      Choices again;
      PatternFile exposing(sample, again);
      const onnx::ModelProto file = exposing.write(row().term, i, consumed);
      if (file.graph().node(i).op_type() == "Shape") continue;
      try {
        const Imported run = import_and_run(file, nodes, row());
        EXPECT_FALSE(run.matched) << i << file.DebugString();
        expect_equal(run, file);
      } catch (const UnsupportedError&) {
        // The node has no layer outside of the pattern.
      }
    }
  }
}

std::vector<const char*> row_names() {
  std::vector<const char*> names;
  for (const Pattern& row : importing::patterns()) names.push_back(row.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Rows, OnnxPatterns, ::testing::ValuesIn(row_names()),
                         [](const auto& row) {
                           std::string name;
                           for (const char c : std::string(row.param)) {
                             if (c != ' ') name += c;
                           }
                           return name;
                         });

// Closed forms in float64, which share nothing with the executors.
TEST(OnnxPatternTable, ComputesClosedForms) {
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const auto relu6 = [](double x) { return std::clamp(x, 0.0, 6.0); };
  const std::vector<std::pair<const char*, std::function<double(double)>>>
      functions{
          {"Sigmoid", sigmoid},
          {"SiLU", [&](double x) { return x * sigmoid(x); }},
          {"Softplus", [](double x) { return std::log1p(std::exp(x)); }},
          {"Mish",
           [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
          {"HardSigmoid", [&](double x) { return relu6(x + 3) / 6; }},
          {"HardSigmoid by a line",
           [](double x) { return std::clamp(0.3 * x + 0.4, 0.0, 1.0); }},
          {"HardSwish", [&](double x) { return x * relu6(x + 3) / 6; }},
          {"LeakyReLU", [](double x) { return x < 0 ? 0.3 * x : x; }},
          {"GELU",
           [](double x) {
             return x * 0.5 * std::erfc(-x / std::numbers::sqrt2);
           }},
          {"GELU by tanh", [](double x) {
             return 0.5 * x *
                    (1 + std::tanh(std::sqrt(2 / std::numbers::pi) *
                                   (x + 0.044715 * x * x * x)));
           }}};
  for (const auto& [name, function] : functions) {
    const PatternSample sample = sample_for(name);
    Choices first;
    PatternFile writer(sample, first);
    const Pattern& row = pattern_row(name);
    const onnx::ModelProto file = writer.write(row.term);
    const Imported run = import_and_run(file, writer.nodes(), row);
    const auto x = run.inputs[0].f32(), y = run.got[0].f32();
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(y[i], function(x[i]), 2e-6) << name << " of " << x[i];
    }
  }
}

/// A chain that begins many patterns: products of a value with itself, sums,
/// and a value that every node consumes.
int64_t steps_for(int nodes) {
  onnx::ModelProto model =
      graph_model("(float[N,4] x) => (float[N,4] y)", "y = Relu (x)");
  auto& graph = *model.mutable_graph();
  *graph.add_initializer() = float_tensor("half", {}, {0.5f});
  *graph.add_initializer() = float_tensor("one", {}, {1});
  const auto add = [&](const char* op, const std::vector<std::string>& inputs) {
    auto& node = *graph.add_node();
    node.set_op_type(op);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(fmt::format("v{}", graph.node_size()));
    return node.output(0);
  };
  const std::string shared = add("Sigmoid", {"x"});
  std::string value = "x";
  while (graph.node_size() < nodes) {
    value = add("Mul", {value, value});
    value = add("Mul", {value, "half"});
    value = add("Add", {value, "one"});
    value = add("Mul", {value, shared});
    value = add("Max", {value, add("Erf", {value})});
    value = add("Div", {value, add("Sqrt", {add("Add", {value, "one"})})});
  }
  OnnxGraph imported(model, {});
  return importing::recompose(imported);
}

TEST(OnnxPatternTable, ComparesTermsInLinearTime) {
  const int64_t half = steps_for(5'000);
  EXPECT_LT(steps_for(10'000), 2 * half + half / 100);
  EXPECT_LT(half, 5'000 * 400);
}

}  // namespace
}  // namespace octet::io
