// Policy::tensorrt: Adds (P04, P06 to P08, P17, P22).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../facts.h"
#include "tensorrt_support.h"

namespace octet::quant {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const Shape kAddImage{7, 5, 4};

/// The edges of the Add in a model with an INT8 consumer of the sum.
Strings add_edges(const SymbolicTensor& image, const SymbolicTensor& sum,
                  const QuantizeOptions& options = {}) {
  const Model model(image, conv(sum, "end"));
  Strings result = edges_for(model, options);
  std::erase_if(result, [](const std::string& edge) {
    return !edge.starts_with("add ");
  });
  return result;
}

struct Branches {
  SymbolicTensor image = input(kAddImage, "image");
  /// Common input of all branches, without a linear producer.
  SymbolicTensor x = relu(MaxPooling2D({.pool_size = {1, 1}})(image), "x");
};

TEST(TensorrtAdd, LeavesTheBranchOfTheConvolutionUnquantized) {
  const Branches b;
  const SymbolicTensor main = norm(conv(b.x, "conv"), "norm");
  EXPECT_EQ(add_edges(b.image, add({b.x, main})), (Strings{"add 0 P04"}));
  EXPECT_EQ(add_edges(b.image, add({main, b.x})), (Strings{"add 1 P04"}));
  EXPECT_EQ(add_edges(b.image, add({b.x, main, b.x})),
            (Strings{"add 0 P04", "add 2 P04"}));
  const Model model(b.image, conv(add({b.x, main}), "end"));
  const QdqPlan plan = plan_for(model);
  EXPECT_EQ(point_at(plan, "add").reason,
            "residual input from x; conv fuses with the Add");
  EXPECT_EQ(point_at(plan, "add").group, point_at(plan, "conv").group);
}

TEST(TensorrtAdd, RejectsNormalizationAfterAnActivationAsABranch) {
  const Branches b;
  const SymbolicTensor late = norm(relu(conv(b.x, "c"), "r"), "late");
  EXPECT_EQ(add_edges(b.image, add({b.x, late})),
            (Strings{"add 0 P06", "add 1 P06"}));
  const SymbolicTensor inside = norm(Conv2D({.filters = 4,
                                             .kernel_size = {3, 3},
                                             .padding = Padding::same,
                                             .activation = "relu",
                                             .name = "with_relu"})(b.x),
                                     "behind");
  EXPECT_EQ(add_edges(b.image, add({b.x, inside})),
            (Strings{"add 0 P06", "add 1 P06"}));
}

class FusedBranch : public ::testing::TestWithParam<
                        std::function<SymbolicTensor(const SymbolicTensor&)>> {
};

TEST_P(FusedBranch, IsRecognizedByTheGraph) {
  const Branches b;
  EXPECT_EQ(add_edges(b.image, add({b.x, GetParam()(b.x)})),
            (Strings{"add 0 P04"}));
}

INSTANTIATE_TEST_SUITE_P(
    TensorrtAdd, FusedBranch,
    ::testing::Values(
        [](const SymbolicTensor& x) { return conv(x, "c"); },
        [](const SymbolicTensor& x) { return relu(conv(x, "c"), "r"); },
        [](const SymbolicTensor& x) {
          return Activation("silu")(norm(conv(x, "c"), "n"));
        },
        [](const SymbolicTensor& x) {
          const SymbolicTensor y = norm(conv(x, "c"), "n");
          return Multiply()({y, Activation("sigmoid")(y)});
        },
        [](const SymbolicTensor& x) {
          return PReLU()(LeakyReLU()(norm(conv(x, "c"), "n")));
        },
        [](const SymbolicTensor& x) {
          return Dropout()(norm(Dropout()(conv(x, "c")), "n"));
        },
        [](const SymbolicTensor& x) {
          return norm(DepthwiseConv2D({.padding = Padding::same})(x), "n");
        },
        [](const SymbolicTensor& x) { return Dense({.units = 4})(x); },
        [](const SymbolicTensor& x) {
          return SeparableConv2D({.filters = 4, .padding = Padding::same})(x);
        },
        [](const SymbolicTensor& x) {
          return Conv2DTranspose({.filters = 4, .padding = Padding::same})(x);
        }));

class OtherBranch : public ::testing::TestWithParam<
                        std::function<SymbolicTensor(const SymbolicTensor&)>> {
};

TEST_P(OtherBranch, DoesNotFuse) {
  const Branches b;
  EXPECT_EQ(add_edges(b.image, add({b.x, GetParam()(b.x)})),
            (Strings{"add 0 P06", "add 1 P06"}));
}

INSTANTIATE_TEST_SUITE_P(
    TensorrtAdd, OtherBranch,
    ::testing::Values([](const SymbolicTensor& x) { return relu(x, "r"); },
                      [](const SymbolicTensor& x) { return norm(x, "n"); },
                      [](const SymbolicTensor& x) {
                        return MaxPooling2D({.pool_size = {3, 3},
                                             .strides = {1, 1},
                                             .padding = Padding::same})(
                            conv(x, "c"));
                      },
                      [](const SymbolicTensor& x) {
                        return Softmax()(conv(x, "c"));
                      },
                      [](const SymbolicTensor& x) {
                        return Activation("softmax")(conv(x, "c"));
                      },
                      [](const SymbolicTensor& x) {
                        return Dense({.units = 4, .activation = "softmax"})(x);
                      },
                      [](const SymbolicTensor& x) {
                        return ZeroPadding2D({.padding = {0, 0, 2, 0}})(
                            Conv2D({.filters = 4, .kernel_size = {1, 3}})(x));
                      }));

TEST(TensorrtAdd, TreatsABranchWithOtherConsumersAsResidual) {
  const Branches b;
  const SymbolicTensor first = conv(b.x, "first");
  const SymbolicTensor shortcut = relu(norm(first, "norm"), "shortcut");
  const SymbolicTensor main = conv(shortcut, "main");
  EXPECT_EQ(add_edges(b.image, add({shortcut, main})), (Strings{"add 0 P08"}));
  const Model model(b.image, conv(add({shortcut, main}), "end"));
  EXPECT_EQ(point_at(plan_for(model), "add").reason,
            "residual input from shortcut, which others read too; main fuses "
            "with the Add");
  // The convolution's output has another consumer before the normalization.
  const SymbolicTensor forked = relu(norm(first, "norm"), "forked");
  const SymbolicTensor other = conv(relu(first, "on"), "other");
  const Model early(b.image, conv(add({other, forked}), "end"));
  EXPECT_EQ(point_at(plan_for(early), "add", 1).reason,
            "residual input from forked, where others read first too; other "
            "fuses with the Add");
}

TEST(TensorrtAdd, CountsTheConsumersOfBothPartsOfSilu) {
  const Branches b;
  const SymbolicTensor y = conv(b.x, "conv");
  const SymbolicTensor gate = Activation("sigmoid", "gate")(y);
  const SymbolicTensor silu = Multiply()({gate, y});
  const auto rule = [&](const std::vector<SymbolicTensor>& outputs) {
    std::vector<SymbolicTensor> all = outputs;
    all.push_back(conv(add({silu, conv(b.x, "other")}), "end"));
    return point_at(plan_for(Model({b.image}, all)), "add", 1).rule;
  };
  EXPECT_EQ(rule({}), "P07");
  EXPECT_THROW((void)rule({gate}), NotFoundError) << "the other one fuses";
  EXPECT_THROW((void)rule({y}), NotFoundError);
}

TEST(TensorrtAdd, CountsModelOutputsAsConsumers) {
  const Branches b;
  const SymbolicTensor a = conv(b.x, "a");
  const SymbolicTensor c = conv(relu(b.x, "on"), "c");
  const Model model({b.image}, {conv(add({a, c}), "end"), c});
  const QdqPlan plan = plan_for(model);
  EXPECT_EQ(point_at(plan, "add", 1).rule, "P08");
  EXPECT_THAT(point_at(plan, "add", 1).reason, HasSubstr("fuses"));
}

TEST(TensorrtAdd, OfATensorAndItselfFusesWithNothing) {
  const Branches b;
  const SymbolicTensor x = conv(b.x, "conv");
  EXPECT_EQ(add_edges(b.image, add({x, x})),
            (Strings{"add 0 P06", "add 1 P06"}));
}

TEST(TensorrtAdd, LeavesTheLongestOfSeveralBranchesUnquantized) {
  const Branches b;
  const SymbolicTensor shortcut = conv(b.x, "shortcut");
  const SymbolicTensor main = norm(
      conv(relu(norm(conv(b.x, "one"), "one_n"), "one_r"), "two"), "two_n");
  EXPECT_EQ(add_edges(b.image, add({shortcut, main})), (Strings{"add 0 P07"}));
  EXPECT_EQ(add_edges(b.image, add({main, shortcut})), (Strings{"add 1 P07"}));
  EXPECT_EQ(add_edges(b.image, add({conv(b.x, "third"), main, shortcut})),
            (Strings{"add 0 P07", "add 2 P07"}));
  const Model model(b.image, conv(add({shortcut, main}), "end"));
  EXPECT_EQ(point_at(plan_for(model), "add").reason,
            "residual input from shortcut; two fuses with the Add: 5 layers "
            "back to x, not 1");
}

TEST(TensorrtAdd, LeavesTheFirstOfEqualBranchesUnquantized) {
  const Branches b;
  const SymbolicTensor one = norm(conv(b.x, "one"), "one_n");
  const SymbolicTensor two = relu(conv(b.x, "two"), "two_r");
  EXPECT_EQ(add_edges(b.image, add({one, two})), (Strings{"add 1 P07"}));
  EXPECT_EQ(add_edges(b.image, add({two, one})), (Strings{"add 1 P07"}));
}

TEST(TensorrtAdd, MeasuresBranchesFromTheirAncestorNotFromTheInput) {
  const Branches b;
  // Both consume `late`; after it the first is shorter.
  const SymbolicTensor late = relu(relu(relu(b.x, "r1"), "r2"), "late");
  const SymbolicTensor one = conv(late, "one");
  const SymbolicTensor two = conv(relu(late, "r3"), "two");
  EXPECT_EQ(add_edges(b.image, add({one, two})), (Strings{"add 0 P07"}));
  // A bypass of `late` makes x the common ancestor, and the first the longer.
  const SymbolicTensor around =
      conv(Maximum()({conv(relu(late, "r4"), "c4"), b.x}), "around");
  EXPECT_EQ(add_edges(b.image, add({around, two})), (Strings{"add 1 P07"}));
}

TEST(TensorrtAdd, MeasuresTheLongestPathOfAForkedBranch) {
  const Branches b;
  const SymbolicTensor one = conv(relu(relu(b.x, "r1"), "r2"), "one");
  const SymbolicTensor near = relu(b.x, "near");
  const SymbolicTensor far = relu(relu(b.x, "r3"), "far");
  const SymbolicTensor two = conv(Maximum()({near, far}), "two");
  const Model model(b.image, conv(add({one, two}), "end"));
  EXPECT_EQ(point_at(plan_for(model), "add", 0).reason,
            "residual input from one; two fuses with the Add: 4 layers back "
            "to x, not 3");
}

TEST(TensorrtAdd, RecognizesAnInt8ConvolutionBehindAPad) {
  const Branches b;
  const SymbolicTensor shortcut = conv(b.x, "shortcut");
  const SymbolicTensor main =
      Conv2D({.filters = 4, .name = "main"})(ZeroPadding2D()(b.x));
  EXPECT_EQ(add_edges(b.image, add({relu(main, "relu"), shortcut})),
            (Strings{"add 1 P07"}));
}

TEST(TensorrtAdd, MeasuresBranchesOfDifferentInputsToTheInputs) {
  const SymbolicTensor left = input(kAddImage, "left");
  const SymbolicTensor right = input(kAddImage, "right");
  const SymbolicTensor a = conv(left, "a");
  const SymbolicTensor b = conv(relu(right, "relu"), "b");
  const Model model({left, right}, {conv(add({a, b}), "end")});
  EXPECT_EQ(point_at(plan_for(model), "add", 0).reason,
            "residual input from a; b fuses with the Add: 2 layers back to the "
            "inputs, not 1");
}

TEST(TensorrtAdd, MeasuresNoFurtherThanAFewThousandLayers) {
  const Branches b;
  SymbolicTensor far = b.x;
  for (int i = 0; i < 5000; ++i) far = relu(far, "r" + std::to_string(i));
  const Model model(
      b.image,
      conv(add({conv(relu(b.x, "near"), "short"), conv(far, "long")}), "end"));
  const std::string reason = point_at(plan_for(model), "add", 0).reason;
  EXPECT_THAT(
      reason,
      StartsWith("residual input from short; long fuses with the Add: "));
  EXPECT_THAT(numbers_in(reason), ElementsAre(3998, 1));  // layers back
}

TEST(TensorrtAdd, FusesNothingIfShapesDiffer) {
  const Branches b;
  const SymbolicTensor row =
      Conv2D({.filters = 4, .kernel_size = {1, 5}, .name = "row"})(b.x);
  const SymbolicTensor main = conv(b.x, "main");
  EXPECT_EQ(add_edges(b.image, add({main, row})),
            (Strings{"add 0 P22", "add 1 P22"}));
}

TEST(TensorrtAdd, WithoutAConvolutionNeedsAnInt8Consumer) {
  const Branches b;
  const SymbolicTensor sum = add({relu(b.x, "on"), b.x});
  EXPECT_EQ(add_edges(b.image, sum), (Strings{"add 0 P06", "add 1 P06"}));
  EXPECT_EQ(add_edges(b.image, relu(MaxPooling2D()(sum), "r")),
            (Strings{"add 0 P06", "add 1 P06"}));
  EXPECT_EQ(add_edges(b.image, Maximum()({sum, b.x})),
            (Strings{"add 0 P06", "add 1 P06"}));
  const Model to_output(b.image, relu(sum, "r"));
  EXPECT_EQ(edges_for(to_output), Strings{});
  EXPECT_EQ(note_of(to_output, "add"),
            "P06: no INT8 convolution fuses with it, and none reads the sum");
  const Model to_norm(b.image, conv(LayerNormalization()(sum), "end"));
  EXPECT_EQ(edges_for(to_norm), (Strings{"end 0 P01"}));
}

TEST(TensorrtAdd, WithAConvolutionNeedsNoConsumer) {
  const Branches b;
  const Model model(b.image, add({b.x, conv(b.x, "conv")}));
  EXPECT_EQ(edges_for(model), (Strings{"conv 0 P01", "add 0 P04"}));
}

TEST(TensorrtAdd, ThatLeadsOnlyToLayerNormalizationStaysFloat) {
  const SymbolicTensor tokens = input({6, 8}, "tokens");
  const Model model(
      tokens, Dense({.units = 3, .name = "head"})(
                  LayerNormalization({.name = "norm"})(transformer_block(
                      tokens, {.num_heads = 2, .mlp_dim = 12, .name = "b"}))));
  for (const std::string& edge : edges_for(model)) {
    EXPECT_THAT(edge, EndsWith(" P01"));
  }
  EXPECT_EQ(note_of(model, "b/add1"),
            "P17: leads only to b/norm2, which stays float");
  EXPECT_EQ(note_of(model, "b/add2"),
            "P17: leads only to norm, which stays float");
  EXPECT_EQ(note_of(model, "b/attention/attention"),
            "P17: stays float, as TensorRT fuses it as a whole");
}

TEST(TensorrtAdd, WithAnInt8ConsumerIsQuantized) {
  const Branches b;
  const SymbolicTensor sum = add({b.x, conv(b.x, "conv")});
  const Model model({b.image}, {LayerNormalization()(sum), conv(sum, "end")});
  EXPECT_EQ(edges_for(model),
            (Strings{"conv 0 P01", "add 0 P04", "end 0 P01"}));
}

TEST(TensorrtAdd, PrefersBranchesThatTheUserLeavesInInt8) {
  const Branches b;
  const SymbolicTensor shortcut = conv(b.x, "shortcut");
  const SymbolicTensor main = conv(relu(b.x, "on"), "main");
  EXPECT_EQ(add_edges(b.image, add({shortcut, main})), (Strings{"add 0 P07"}));
  EXPECT_EQ(add_edges(b.image, add({shortcut, main}), without({"main"})),
            (Strings{"add 1 P04"}));
}

TEST(TensorrtAdd, AfterAFloatBranchIsQuantizedForItsConsumers) {
  const Branches b;
  const Model model(b.image, conv(add({b.x, conv(b.x, "main")}), "end"));
  EXPECT_EQ(edges_for(model, without({"main"})),
            (Strings{"add 0 P04", "end 0 P01"}));
  EXPECT_EQ(edges_for(model, without({"main", "end"})), Strings{});
  EXPECT_EQ(note_of(model, "add", without({"main", "end"})),
            "P06: no INT8 convolution fuses with it, and none reads the sum");
}

TEST(TensorrtAdd, FollowsTheUser) {
  const Branches b;
  const Model model(b.image, conv(add({b.x, conv(b.x, "main")}), "end"));
  QuantizeOptions options;
  options.spec.add("add", {.quantization_index = {1}});
  EXPECT_EQ(edges_for(model, options),
            (Strings{"main 0 P01", "add 1 user", "end 0 P01"}));
  EXPECT_EQ(edges_for(model, without({"add"})),
            (Strings{"main 0 P01", "end 0 P01"}));
}

TEST(TensorrtAdd, ReportsACaseThatOverridesIt) {
  const Branches b;
  const SymbolicTensor shortcut = norm(conv(b.x, "shortcut"), "shortcut_n");
  const SymbolicTensor main =
      norm(conv(relu(conv(b.x, "one"), "on"), "two"), "two_n");
  const Model model(b.image, conv(add({shortcut, main}), "end"));
  const Placement placement = place(model, {.cases = {ResNetV1QDQCase()}});
  EXPECT_EQ(point_at(placement.plan, "add", 1).rule, "case ResNetV1");
  EXPECT_THAT(placement.notes,
              ::testing::Contains(PlacementNote{
                  .kind = PlacementNote::Kind::conflict,
                  .layer = "add",
                  .rule = "case ResNetV1",
                  .text = "case ResNetV1 requests input 1, P07 requests input "
                          "0; case ResNetV1 wins"}));
}

TEST(TensorrtAdd, CanBeSwitchedOff) {
  const Branches b;
  const Model model(b.image, conv(add({b.x, conv(b.x, "main")}), "end"));
  const QuantizeOptions options{.tensorrt = {.residual = false}};
  EXPECT_EQ(edges_for(model, options), (Strings{"main 0 P01", "end 0 P01"}));
  EXPECT_EQ(note_of(model, "add", options), "P04: residual = false skips Adds");
}

TEST(TensorrtAdd, OfOtherKindsStaysFloat) {
  const Branches b;
  const Model model(
      b.image, conv(Maximum({.name = "m"})({b.x, conv(b.x, "main")}), "end"));
  EXPECT_EQ(edges_for(model), (Strings{"main 0 P01", "end 0 P01"}));
  EXPECT_EQ(note_of(model, "m"), "P27: Maximum fuses with no INT8 layer");
}

}  // namespace
}  // namespace octet::quant
