// Policy::tensorrt on complete networks: properties of every plan, derived from
// the graph alone.
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/zoo.h>

#include "tensorrt_support.h"

namespace octet::quant {
namespace {

struct Row {
  const char* network;
  PairCount count;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.network; }

/// A plan on its graph, with independent traversals.
class PlacedNetwork {
 public:
  explicit PlacedNetwork(const Model& model) : plan_(plan_for(model)) {
    for (const QdqPoint& point : plan_.points) {
      const bool weight = point.site.kind == SiteKind::weight;
      (weight ? weighted_ : points_)[point.layer].insert(point.site.index);
    }
    for (const auto& node : model.nodes()) {
      for (const SymbolicTensor& x : node->inputs) {
        ++consumers_[x.node.get()];
      }
    }
    for (const SymbolicTensor& y : model.outputs()) ++consumers_[y.node.get()];
  }

  const QdqPlan& plan() const { return plan_; }

  bool has_point(const GraphNode& node, int input) const {
    const auto found = points_.find(node.layer->name());
    return found != points_.end() && found->second.contains(input);
  }
  bool has_weight(const GraphNode& node) const {
    return weighted_.contains(node.layer->name());
  }

  /// Whether the input, or the pads before it, have Q/DQ.
  bool reads_int8(const GraphNode& node) const {
    const GraphNode* at = &node;
    while (!has_point(*at, 0)) {
      at = at->inputs[0].node.get();
      while (is(*at, "Dropout")) at = at->inputs[0].node.get();
      if (!is(*at, "ZeroPadding2D")) return false;
    }
    return true;
  }

  /// Whether a quantized convolution with a single consumer produces the
  /// tensor.
  bool is_conv_branch(const SymbolicTensor& x) const {
    const GraphNode* at = x.node.get();
    while (consumers_.at(at) == 1) {
      if (has_weight(*at)) return true;
      const bool passes = is(*at, "BatchNormalization") || is(*at, "ReLU") ||
                          is(*at, "Activation") || is(*at, "Dropout");
      if (!passes) return false;
      at = at->inputs[0].node.get();
    }
    return false;
  }

  static bool is(const GraphNode& node, std::string_view class_name) {
    return node.layer->class_name() == class_name;
  }

 private:
  QdqPlan plan_;
  std::map<std::string, std::set<int>> points_;
  std::map<std::string, std::set<int>> weighted_;
  std::map<const GraphNode*, int> consumers_;
};

void expect_int8_in_both_operands(const Model& model,
                                  const PlacedNetwork& net) {
  for (const auto& node : model.nodes()) {
    if (!net.has_weight(*node)) continue;
    EXPECT_TRUE(net.reads_int8(*node)) << node->layer->name();
  }
}

void expect_one_float_branch_an_add(const Model& model,
                                    const PlacedNetwork& net) {
  for (const auto& node : model.nodes()) {
    if (!PlacedNetwork::is(*node, "Add")) continue;
    int branches = 0;
    int left = 0;  // number of unquantized branches
    int quantized = 0;
    for (size_t i = 0; i < node->inputs.size(); ++i) {
      const bool point = net.has_point(*node, static_cast<int>(i));
      const bool branch = net.is_conv_branch(node->inputs[i]);
      quantized += point;
      branches += branch;
      left += branch && !point;
    }
    if (quantized == 0) continue;
    EXPECT_EQ(left, branches > 0 ? 1 : 0) << node->layer->name();
  }
}

void expect_one_quantizer_a_tensor(const Model& model,
                                   const PlacedNetwork& net) {
  std::map<const GraphNode*, std::string> groups;
  for (const QdqPoint& point : net.plan().points) {
    if (point.site.kind != SiteKind::input) continue;
    for (const auto& node : model.nodes()) {
      if (node->layer->name() != point.layer) continue;
      const GraphNode* made =
          node->inputs[static_cast<size_t>(point.site.index)].node.get();
      while (PlacedNetwork::is(*made, "Dropout")) {
        made = made->inputs[0].node.get();
      }
      EXPECT_EQ(groups.emplace(made, point.group).first->second, point.group)
          << point.layer;
    }
  }
}

void expect_float_layers(const Model& model, const PlacedNetwork& net) {
  const std::set<std::string> kinds{
      "Activation", "Concatenate", "Flatten", "LayerNormalization",
      "ReLU",       "Reshape",     "Softmax", "ScaledDotProductAttention"};
  for (const QdqPoint& point : net.plan().points) {
    EXPECT_FALSE(kinds.contains(model.layer(point.layer).class_name()))
        << point.layer;
    EXPECT_FALSE(point.rule.empty());
    EXPECT_FALSE(point.reason.empty());
  }
}

class NetworkOfTheZoo : public ::testing::TestWithParam<Row> {};

TEST_P(NetworkOfTheZoo, FollowsTheRules) {
  const Row& row = GetParam();
  const Model model = zoo::make(row.network);
  const PlacedNetwork net(model);
  EXPECT_EQ(count_pairs(net.plan(), model), row.count);
  EXPECT_EQ(plan_for(model), net.plan());
  expect_int8_in_both_operands(model, net);
  expect_one_float_branch_an_add(model, net);
  expect_one_quantizer_a_tensor(model, net);
  expect_float_layers(model, net);
}

// Counted by hand, weights and activations:
// - resnet8: 9 convolutions and a Dense; with 3 residuals and the pool. The
// first residual and 2 shortcuts' convolutions share tensors with Q/DQ.
// - ds_cnn: 9 convolutions and a Dense; with the pool.
// - unet: 15 convolutions and 3 transposed.
// - vit_tiny: the patches', 6 Dense in each of 12 blocks, and the head; query,
// key and value share a tensor.
// - densenet121: 120 convolutions and a Dense; with 4 average pools and 62
// normalizations: in 58 blocks, 3 transitions, and the last.
// - resnet18: 20 convolutions and a Dense; with 8 residuals and the pool; 5
// residuals and 3 shortcuts' convolutions share tensors with Q/DQ.
INSTANTIATE_TEST_SUITE_P(
    TensorrtZoo, NetworkOfTheZoo,
    ::testing::Values(
        Row{"resnet8", {.activations = 14, .weights = 10, .shared = 21}},
        Row{"ds_cnn", {.activations = 11, .weights = 10, .shared = 21}},
        Row{"unet", {.activations = 18, .weights = 18, .shared = 36}},
        Row{"vit_tiny", {.activations = 74, .weights = 74, .shared = 124}},
        Row{"densenet121", {.activations = 187, .weights = 121, .shared = 308}},
        Row{"resnet18", {.activations = 30, .weights = 21, .shared = 43}},
        Row{"resnet50", {.activations = 71, .weights = 54, .shared = 109}},
        Row{"resnet50_v2", {.activations = 88, .weights = 54, .shared = 126}},
        Row{"inception_v3", {.activations = 107, .weights = 95, .shared = 167}},
        Row{"efficientnet_b0",
            {.activations = 140, .weights = 82, .shared = 197}}));

TEST(TensorrtZoo, ExplainsTheScalesOfSkipsInAUNet) {
  const Model model = zoo::make("unet");
  EXPECT_EQ(note_of(model, "up3_concat"),
            "P14: Q/DQ moves through it from up3_1_conv; down3_2_relu has "
            "another scale for bottom_1_conv");
}

TEST(TensorrtZoo, KeepsTheAddsOfATransformerFloat) {
  const Model model = zoo::make("vit_tiny");
  EXPECT_EQ(note_of(model, "block1/add1"),
            "P17: leads only to block1/norm2, which stays float");
  EXPECT_EQ(note_of(model, "block12/add2"),
            "P17: leads only to norm, which stays float");
}

TEST(TensorrtZoo, ReturnsAModelThatCalibratesAndStaysNearTheFloatModel) {
  const Model model = zoo::make("resnet8");
  shake(model);
  Model quantized = quantize_model(model);
  EXPECT_EQ(quantizers(quantized).size(), 21u);
  calibrate(quantized, samples(16, {32, 32, 3}), {.method = Calibration::max});
  const Tensor x = noise({4, 32, 32, 3}, 3);
  const auto real = values(model.predict(x));
  const auto rounded = values(quantized.predict(x));
  float largest = 0;
  float error = 0;
  for (size_t i = 0; i < real.size(); ++i) {
    largest = std::max(largest, std::abs(real[i]));
    error = std::max(error, std::abs(real[i] - rounded[i]));
  }
  EXPECT_GT(error, 0);
  EXPECT_LT(error, 0.1f * largest);
}

}  // namespace
}  // namespace octet::quant
