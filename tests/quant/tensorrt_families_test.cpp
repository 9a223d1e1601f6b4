// Policy::tensorrt compared with the toolkit and each family's case: every
// differing edge, with its rule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/zoo.h>

#include "tensorrt_support.h"

namespace octet::quant {
namespace {

bool has_edge(const QdqPlan& plan, const QdqPoint& point) {
  return std::ranges::any_of(plan.points, [&](const QdqPoint& other) {
    return other.layer == point.layer && other.site == point.site;
  });
}

std::string edge(const QdqPoint& point) {
  return fmt::format("{} {}", point.layer, point.site.index);
}

/// A network with both plans.
class Family {
 public:
  Family(const std::string& network, const std::string& insertion_case_name)
      : model_(zoo::make(network)), placed_(place(model_)) {
    toolkit_ = plan_for(model_, {.cases = {insertion_case(insertion_case_name)},
                                 .policy = Policy::toolkit});
  }

  PairCount toolkit() const { return count_pairs(toolkit_, model_); }
  PairCount tensorrt() const { return count_pairs(placed_.plan, model_); }

  /// "- conv 0 P20" for edges of the toolkit only, "+ pad 0 P20" for edges of
  /// this policy only.
  Strings differences() const {
    Strings result;
    for (const QdqPoint& point : toolkit_.points) {
      if (has_edge(placed_.plan, point)) continue;
      result.push_back(
          fmt::format("- {} {}", edge(point), rule_without(point.layer)));
    }
    for (const QdqPoint& point : placed_.plan.points) {
      if (has_edge(toolkit_, point)) continue;
      result.push_back(fmt::format("+ {} {}", edge(point), point.rule));
    }
    return result;
  }

 private:
  std::string rule_at(const std::string& layer) const {
    for (const QdqPoint& point : placed_.plan.points) {
      if (point.layer == layer && point.site.kind == SiteKind::input) {
        return point.rule;
      }
    }
    return "";
  }

  // Expects a reason for an input without Q/DQ: Q/DQ on the other input, a
  // note, or Q/DQ before the pad.
  std::string rule_without(const std::string& layer) const {
    if (const std::string rule = rule_at(layer); !rule.empty()) return rule;
    for (const PlacementNote& note : placed_.notes) {
      if (note.layer == layer) return note.rule;
    }
    for (const auto& node : model_.nodes()) {
      if (node->layer->name() == layer) {
        return rule_at(node->inputs[0].node->layer->name());
      }
    }
    return "";
  }

  Model model_;
  Placement placed_;
  QdqPlan toolkit_;
};

/// Q/DQ moves from the convolution to the pad before it.
void add_pad(Strings& differences, const std::string& convolution,
             const std::string& pad) {
  differences.push_back(fmt::format("- {} 0 P20", convolution));
  differences.push_back(fmt::format("+ {} 0 P20", pad));
}

/// The main path's convolution fuses with the Add, not the shortcut's, which is
/// listed first.
void add_projection(Strings& differences, const std::string& sum) {
  differences.push_back(fmt::format("- {} 1 P07", sum));
  differences.push_back(fmt::format("+ {} 0 P07", sum));
}

void expect_differences(const Family& family, const Strings& expected) {
  EXPECT_THAT(family.differences(),
              ::testing::UnorderedElementsAreArray(expected));
}

TEST(TensorrtFamilies, ResNet50DiffersInItsFirstPadAndProjections) {
  const Family family("resnet50", "ResNetV1");
  Strings expected;
  add_pad(expected, "conv1_conv", "conv1_pad");
  add_projection(expected, "conv2_block1_add");
  add_projection(expected, "conv3_block1_add");
  add_projection(expected, "conv4_block1_add");
  add_projection(expected, "conv5_block1_add");
  expect_differences(family, expected);
  // Equally many pairs, in other places.
  const PairCount count{.activations = 71, .weights = 54, .shared = 109};
  EXPECT_EQ(family.toolkit(), count);
  EXPECT_EQ(family.tensorrt(), count);
}

TEST(TensorrtFamilies, ResNet50V2DiffersInPadsProjectionsAndPooledShortcuts) {
  const Family family("resnet50_v2", "ResNetV2");
  Strings expected;
  add_pad(expected, "conv1_conv", "conv1_pad");
  for (const char* block :
       {"conv2_block1", "conv2_block2", "conv2_block3", "conv3_block1",
        "conv3_block2", "conv3_block3", "conv3_block4", "conv4_block1",
        "conv4_block2", "conv4_block3", "conv4_block4", "conv4_block5",
        "conv4_block6", "conv5_block1", "conv5_block2", "conv5_block3"}) {
    add_pad(expected, fmt::format("{}_2_conv", block),
            fmt::format("{}_2_pad", block));
  }
  add_projection(expected, "conv2_block1_out");
  add_projection(expected, "conv3_block1_out");
  add_projection(expected, "conv4_block1_out");
  add_projection(expected, "conv5_block1_out");
  // Its input has no other consumer, and conv2_block1_preact_bn has Q/DQ.
  expected.push_back("- pool1_pool 0 P10");
  // Each shortcut is a pool that shares the quantizer of
  // conv?_block?_preact_bn.
  expected.push_back("- conv2_block3_out 0 P10");
  expected.push_back("- conv3_block4_out 0 P10");
  expected.push_back("- conv4_block6_out 0 P10");
  expect_differences(family, expected);
  EXPECT_EQ(family.toolkit(),
            (PairCount{.activations = 92, .weights = 54, .shared = 130}));
  EXPECT_EQ(family.tensorrt(),
            (PairCount{.activations = 88, .weights = 54, .shared = 126}));
}

TEST(TensorrtFamilies, MobileNetDiffersInPads) {
  const Family family("mobilenet", "MobileNet");
  Strings expected;
  for (const char* block : {"2", "4", "6", "12"}) {
    add_pad(expected, fmt::format("conv_dw_{}", block),
            fmt::format("conv_pad_{}", block));
  }
  expect_differences(family, expected);
  const PairCount count{.activations = 29, .weights = 28, .shared = 57};
  EXPECT_EQ(family.toolkit(), count);
  EXPECT_EQ(family.tensorrt(), count);
}

TEST(TensorrtFamilies, MobileNetV2DiffersInPads) {
  const Family family("mobilenet_v2", "MobileNet");
  Strings expected;
  for (const char* block : {"block_1", "block_3", "block_6", "block_13"}) {
    add_pad(expected, fmt::format("{}_depthwise", block),
            fmt::format("{}_pad", block));
  }
  expect_differences(family, expected);
  const PairCount count{.activations = 64, .weights = 53, .shared = 107};
  EXPECT_EQ(family.toolkit(), count);
  EXPECT_EQ(family.tensorrt(), count);
}

TEST(TensorrtFamilies, InceptionV3DiffersInPoolsThatShareNoTensor) {
  const Family family("inception_v3", "Inception");
  // Their inputs have no other consumers; the convolutions after them have
  // Q/DQ.
  expect_differences(family,
                     {"- max_pooling2d 0 P10", "- max_pooling2d_1 0 P10"});
  EXPECT_EQ(family.toolkit(),
            (PairCount{.activations = 109, .weights = 95, .shared = 169}));
  EXPECT_EQ(family.tensorrt(),
            (PairCount{.activations = 107, .weights = 95, .shared = 167}));
}

TEST(TensorrtFamilies, EfficientNetB0DiffersInPadsAndAddsBehindDropout) {
  const Family family("efficientnet_b0", "EfficientNet");
  Strings expected;
  add_pad(expected, "stem_conv", "stem_conv_pad");
  for (const char* block : {"block2a", "block3a", "block4a", "block6a"}) {
    add_pad(expected, fmt::format("{}_dwconv", block),
            fmt::format("{}_dwconv_pad", block));
  }
  // The toolkit does not recognize the convolution after the Dropout and
  // quantizes both inputs. The residual's convolution has other consumers
  // (P08), or the residual is an Add (P04).
  for (const char* sum : {"block2b_add", "block3b_add", "block4b_add",
                          "block5b_add", "block6b_add"}) {
    expected.push_back(fmt::format("- {} 0 P08", sum));
  }
  for (const char* sum :
       {"block4c_add", "block5c_add", "block6c_add", "block6d_add"}) {
    expected.push_back(fmt::format("- {} 0 P04", sum));
  }
  expect_differences(family, expected);
  EXPECT_EQ(family.toolkit(),
            (PairCount{.activations = 149, .weights = 82, .shared = 206}));
  EXPECT_EQ(family.tensorrt(),
            (PairCount{.activations = 140, .weights = 82, .shared = 197}));
}

TEST(TensorrtFamilies, NetworksOfTheToolkitsTestsGetTheirPairsWithoutACase) {
  struct Row {
    const char* network;
    PairCount count;
  };
  // Source: table B of the toolkit's cases, rows 13, 22, 23, 29b; Sam is Frodo
  // with an additional residual.
  const Row rows[] = {
      {"otho", {.activations = 2, .weights = 2, .shared = 4}},
      {"lotho", {.activations = 2, .weights = 2, .shared = 4}},
      {"lobelia", {.activations = 2, .weights = 2, .shared = 4}},
      {"frodo", {.activations = 11, .weights = 9, .shared = 18}},
      {"merry", {.activations = 7, .weights = 7, .shared = 13}},
      {"pippin", {.activations = 11, .weights = 9, .shared = 18}},
      {"sam", {.activations = 14, .weights = 11, .shared = 22}},
  };
  for (const Row& row : rows) {
    const Model model = zoo::make(row.network);
    EXPECT_EQ(count_pairs(plan_for(model), model), row.count) << row.network;
  }
}

}  // namespace
}  // namespace octet::quant
