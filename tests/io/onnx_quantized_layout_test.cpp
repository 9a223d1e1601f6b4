// Axis orders of quantized models: those of the float model, with Q/DQ directly
// before their consumers.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <octet/io/compare.h>
#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/layers/layers.h>
#include <octet/quant/quant.h>
#include <octet/runtime/file.h>

#include "../layers/support.h"
#include "../temp_folder.h"
#include "onnx_models.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

onnx::ModelProto parsed(const std::string& bytes) {
  onnx::ModelProto proto;
  proto.ParseFromString(bytes);
  return proto;
}

int64_t node_count(const onnx::ModelProto& proto, const std::string& op) {
  return std::ranges::count(proto.graph().node(), op,
                            &onnx::NodeProto::op_type);
}

Tensor batch_for(const Model& model, int64_t samples) {
  return noise(model.inputs()[0].shape().with(0, samples));
}

Model int8_of(const Model& model) {
  Model int8 = quant::quantize_model(model);
  const Tensor data = batch_for(model, 8);
  (void)quant::calibrate(int8, [&](const Model& m) { (void)m.predict(data); });
  return int8;
}

/// Names of nodes that rearrange a dequantized value.
std::vector<std::string> movements_behind_pairs(const onnx::ModelProto& proto) {
  std::map<std::string, std::string> producers;
  std::vector<std::string> names;
  for (const auto& node : proto.graph().node()) {
    for (const auto& output : node.output()) producers[output] = node.op_type();
    const bool moves =
        node.op_type() == "Transpose" || node.op_type() == "Reshape";
    if (moves && producers[node.input(0)] == "DequantizeLinear") {
      names.push_back(node.name());
    }
  }
  return names;
}

using Sizes = std::vector<int64_t>;

/// Sizes of inputs and outputs, by name.
std::map<std::string, Sizes> port_sizes(const onnx::ModelProto& proto) {
  std::map<std::string, Sizes> result;
  for (const auto* list : {&proto.graph().input(), &proto.graph().output()}) {
    for (const auto& port : *list) {
      Sizes& sizes = result[port.name()];
      for (const auto& dim : port.type().tensor_type().shape().dim()) {
        sizes.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
      }
    }
  }
  return result;
}

/// Compares a quantized model with its file, value by value.
void expect_same_outputs(const Model& int8, const std::string& bytes) {
  const ModelComparison result =
      compare_models(TracedModel(int8.clone()),
                     TracedModel::from_onnx_bytes(bytes), batch_for(int8, 3));
  EXPECT_GT(result.output_sqnr(), 40);
}

Model dense_between_convolutions() {
  const SymbolicTensor x = input({11, 4}, "x");
  SymbolicTensor y = Conv1D({.filters = 8, .activation = "relu"})(x);
  y = Dense({.units = 4, .activation = "relu", .name = "tokens"})(y);
  y = Conv1D({.filters = 8, .activation = "relu"})(y);
  Model model(x, Dense({.units = 5})(GlobalAveragePooling1D()(y)));
  shake(model);
  return model;
}

TEST(QuantizedLayout, DenseBetweenConvolutionsIsAConvolution) {
  const Model model = dense_between_convolutions();
  const Model int8 = int8_of(model);
  for (const Model* each : {&model, &int8}) {
    const onnx::ModelProto proto = parsed(to_onnx(*each).bytes);
    EXPECT_EQ(node_count(proto, "Conv"), 3);
    EXPECT_EQ(node_count(proto, "MatMul") + node_count(proto, "Transpose"), 0);
    EXPECT_EQ(node_count(proto, "Add"), 0);  // biases are inputs
  }
  const std::string bytes = to_onnx(int8).bytes;
  // Two for each product, and one for the pooling.
  EXPECT_EQ(node_count(parsed(bytes), "QuantizeLinear"), 9);
  expect_same_outputs(int8, bytes);
}

TEST(QuantizedLayout, GatesOfSequencesAreConvolutions) {
  const SymbolicTensor x = input({16, 4}, "x");
  const SymbolicTensor y = Conv1D({.filters = 8, .activation = "relu"})(x);
  SymbolicTensor gate = GlobalAveragePooling1D({.keepdims = true})(y);
  gate = Dense({.units = 4, .activation = "relu"})(gate);
  gate = Dense({.units = 8, .activation = "sigmoid"})(gate);
  Model model(x, Conv1D({.filters = 8})(Multiply()({y, gate})));
  shake(model);
  const Model int8 = int8_of(model);
  for (const Model* each : std::array<const Model*, 2>{&model, &int8}) {
    const onnx::ModelProto proto = parsed(to_onnx(*each).bytes);
    EXPECT_EQ(node_count(proto, "Conv"), 4);
    EXPECT_EQ(node_count(proto, "Reshape") + node_count(proto, "Transpose"), 0);
  }
}

// A layer that is called for sequences in both orders.
TEST(QuantizedLayout, ASharedDenseHasItsWeightTwice) {
  const SymbolicTensor x = input({11, 4}, "x");
  const Dense shared({.units = 8, .name = "shared"});
  SymbolicTensor y = shared(Conv1D({.filters = 8, .activation = "relu"})(x));
  y = Conv1D({.filters = 6})(y);
  SymbolicTensor z =
      LayerNormalization()(shared(Reshape({.target_shape = {-1, 8}})(
          Flatten()(Dense({.units = 32})(GlobalAveragePooling1D()(y))))));
  Model model(x, Dense({.units = 5})(Flatten()(z)));
  shake(model);
  const Model int8 = int8_of(model);
  const std::string bytes = to_onnx(int8).bytes;
  const onnx::ModelProto proto = parsed(bytes);
  EXPECT_EQ(node_count(proto, "Conv"), 3);
  EXPECT_EQ(node_count(proto, "MatMul"), 1);
  EXPECT_EQ(node_count(proto, "Transpose"), 0);
  EXPECT_THAT(movements_behind_pairs(proto), IsEmpty());
  expect_same_outputs(int8, bytes);
}

/// Sequences at both ends, with as many channels as tokens.
Model sequence_to_sequence(int64_t tokens, int64_t channels) {
  const SymbolicTensor x = input({tokens, channels}, "x");
  SymbolicTensor y = Dense({.units = channels, .activation = "relu"})(x);
  y = Conv1D({.filters = 6, .padding = "same", .activation = "relu"})(y);
  y = BatchNormalization()(Dense({.units = 8})(y));
  Model model(x, Dense({.units = channels, .name = "y"})(y));
  shake(model);
  return model;
}

TEST(QuantizedLayout, PortsAreThoseOfTheFloatModel) {
  for (const int64_t tokens : {9, 12}) {
    const Model model = sequence_to_sequence(tokens, 9);
    const Model int8 = int8_of(model);
    const onnx::ModelProto floats = parsed(to_onnx(model).bytes);
    EXPECT_THAT(port_sizes(floats),
                ElementsAre(Pair("input", ElementsAre(-1, 9, tokens)),
                            Pair("logits", ElementsAre(-1, 9, tokens))));
    for (const bool fold : {false, true}) {
      const OnnxExportOptions options{.fold_batch_norm = fold};
      const onnx::ModelProto file = parsed(to_onnx(int8, options).bytes);
      EXPECT_EQ(port_sizes(file), port_sizes(floats));
      EXPECT_EQ(file.metadata_props(0).value(), "NCL");
      EXPECT_EQ(file.metadata_props(1).value(), "NCL");
      EXPECT_EQ(node_count(file, "Transpose"), 0);
    }
    expect_same_outputs(int8, to_onnx(int8).bytes);
  }
}

// Tokens that only attention and its residual connections consume.
TEST(QuantizedLayout, TokensKeepTheOrderOfKeras) {
  const SymbolicTensor x = input({9, 9}, "x");
  SymbolicTensor y = PositionEmbedding()(Dense({.units = 8})(x));
  y = Add()({y, multi_head_attention(y, y, {.num_heads = 2, .key_dim = 4})});
  Model model(x, Dense({.units = 9})(y));
  shake(model);
  const Model int8 = int8_of(model);
  for (const Model* each : std::array<const Model*, 2>{&model, &int8}) {
    const onnx::ModelProto file = parsed(to_onnx(*each).bytes);
    EXPECT_TRUE(std::ranges::none_of(
        file.metadata_props(),
        [](const auto& entry) { return entry.key() == "input_layout"; }));
    EXPECT_THAT(movements_behind_pairs(file), IsEmpty());
  }
}

TEST(QuantizedLayout, ImportedPortsKeepTheirOrder) {
  const TempFolder folder;
  const auto path = folder.path() / "m.onnx";
  const Model model = sequence_to_sequence(9, 9);
  for (const OnnxLayout layout :
       {OnnxLayout::channels_first, OnnxLayout::channels_last}) {
    write_file(path, to_onnx(model, {.layout = layout}).bytes);
    const OnnxImport imported = import_onnx(path);
    const Model int8 = int8_of(imported.model);
    const std::string bytes =
        to_onnx(int8, {.interface = imported.interface}).bytes;
    const Tensor x = noise({3, 9, 9});
    const Tensor expected =
        onnx_reference_from_bytes(read_file(path)).predict(x);
    const Tensor y = onnx_reference_from_bytes(bytes).predict(x);
    double error = 0, power = 0;
    for (size_t i = 0; i < y.f32().size(); ++i) {
      const double e = y.f32()[i] - expected.f32()[i];
      error += e * e;
      power += expected.f32()[i] * expected.f32()[i];
    }
    EXPECT_LT(error, 0.05 * power);
  }
}

// The consumers of a pair need it in different orders: each has its own, before
// which the value is transposed.
TEST(QuantizedLayout, TransposesPrecedePairs) {
  const SymbolicTensor x = input({12, 4}, "x");
  SymbolicTensor y = LayerNormalization()(
      Dense({.units = 8})(Reshape({.target_shape = {12, 4}})(Flatten()(x))));
  SymbolicTensor a = multi_head_attention(y, y, {.num_heads = 2, .key_dim = 4});
  SymbolicTensor b = Conv1D({.filters = 8, .padding = "same"})(y);
  b = MaxPooling1D({.pool_size = 3, .strides = 1, .padding = "same"})(b);
  Model model(x, Dense({.units = 5})(Flatten()(Add()({a, b}))));
  shake(model);
  const Model int8 = int8_of(model);
  const std::string bytes = to_onnx(int8).bytes;
  const onnx::ModelProto proto = parsed(bytes);
  EXPECT_THAT(movements_behind_pairs(proto), IsEmpty());
  expect_same_outputs(int8, bytes);
}

// Comparisons know the orders of files, also if the sizes do not tell.
TEST(QuantizedLayout, IsKnownToComparisons) {
  const SymbolicTensor x = input({9, 9}, "x");
  const SymbolicTensor y =
      Conv1D({.filters = 9, .padding = "same", .name = "conv"})(x);
  const SymbolicTensor t = Dense({.units = 9, .name = "tokens"})(
      PositionEmbedding()(Reshape({.target_shape = {9, 9}})(Flatten()(x))));
  const Model one(x, y), two({x}, {y, t});
  shake(two);
  const Tensor data = noise({4, 9, 9});
  for (const Model* model : {&one, &two}) {
    const auto first = TracedModel::from_onnx_bytes(to_onnx(*model).bytes);
    const auto last = TracedModel::from_onnx_bytes(
        to_onnx(*model, {.layout = OnnxLayout::channels_last}).bytes);
    const TracedModel own(model->clone());
    for (const auto& [a, b] : {std::pair(own, first), std::pair(first, own),
                               std::pair(first, last), std::pair(last, own)}) {
      for (const auto& value : compare_models(a, b, data).values) {
        if (value.is_output) {
          EXPECT_GT(value.sqnr(), 100) << value.name;
        }
      }
    }
  }
}

TEST(QuantizedLayout, ManyInputsOfANodeTakeLinearTime) {
  const SymbolicTensor x = input({4, 6, 3}, "x");
  const SymbolicTensor y = Conv2D({.filters = 2})(x);
  std::vector<SymbolicTensor> parts;
  for (int i = 0; i < 5000; ++i) parts.push_back(ReLU()(y));
  Model model(x, Concatenate({.axis = 1})(parts));
  const onnx::ModelProto proto = parsed(to_onnx(model).bytes);
  EXPECT_EQ(node_count(proto, "Transpose"), 0);
}

}  // namespace
}  // namespace octet::io
