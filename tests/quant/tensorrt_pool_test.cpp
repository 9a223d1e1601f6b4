// Policy::tensorrt: normalization (P02, P03), pools (P10 to P12), Concatenate
// (P14), Multiply (P15), and layers that stay float (P17).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tensorrt_support.h"

namespace octet::quant {
namespace {

using ::testing::StartsWith;

const Shape kPoolImage{8, 6, 4};

SymbolicTensor image() { return input(kPoolImage, "image"); }

SymbolicTensor max_pool(const SymbolicTensor& x, const std::string& name) {
  return MaxPooling2D({.name = name})(x);
}

SymbolicTensor average(const SymbolicTensor& x, const std::string& name) {
  return GlobalAveragePooling2D({.name = name})(x);
}

SymbolicTensor dense(const SymbolicTensor& x, const std::string& name,
                     int64_t units = 3) {
  return Dense({.units = units, .name = name})(x);
}

// BatchNormalization.

TEST(TensorrtNormalization, FusesWithTheLinearLayerBeforeIt) {
  const SymbolicTensor x = image();
  const SymbolicTensor y = Dropout()(conv(x, "conv"));
  const Model model(x, conv(relu(norm(y, "norm"), "relu"), "end"));
  EXPECT_EQ(edges_for(model), (Strings{"conv 0 P01", "end 0 P01"}));
  EXPECT_EQ(note_of(model, "norm"), "P02: fuses with conv");
  const Model twice(x, conv(norm(norm(y, "norm"), "again"), "end"));
  EXPECT_EQ(note_of(twice, "again"), "P02: fuses with conv");
}

TEST(TensorrtNormalization, HasQdqAfterOtherLayersIfAnInt8LayerFollows) {
  const SymbolicTensor x = image();
  const Model directly(x, conv(norm(x, "norm"), "end"));
  EXPECT_EQ(edges_for(directly), (Strings{"norm 0 P03", "end 0 P01"}));
  EXPECT_EQ(point_at(plan_for(directly), "norm").reason,
            "image is no linear layer to fuse with; end reads it");
  const Model through(x, conv(relu(norm(Dropout()(x), "norm"), "relu"), "end"));
  EXPECT_EQ(edges_for(through), (Strings{"norm 0 P03", "end 0 P01"}));
  EXPECT_EQ(edges_for(through, without({"end"})), Strings{});
  EXPECT_EQ(note_of(through, "norm", without({"end"})),
            "P03: no successor is quantized");
}

TEST(TensorrtNormalization, RecognizesAConvolutionBehindAPad) {
  const SymbolicTensor x = image();
  const Model model(
      x, conv(ZeroPadding2D({.name = "pad"})(norm(x, "norm")), "end"));
  EXPECT_EQ(edges_for(model), (Strings{"norm 0 P03", "pad 0 P20"}));
  EXPECT_EQ(point_at(plan_for(model), "norm").reason,
            "image is no linear layer to fuse with; end reads it");
}

TEST(TensorrtNormalization, HasQdqAfterALayerWithABuiltInActivation) {
  const SymbolicTensor x = image();
  const SymbolicTensor y =
      Conv2D({.filters = 4, .activation = "relu", .name = "conv"})(x);
  EXPECT_EQ(edges_for(Model(x, conv(norm(y, "norm"), "end"))),
            (Strings{"conv 0 P01", "norm 0 P03", "end 0 P01"}));
}

TEST(TensorrtNormalization, HasNoneInABranchThatFusesWithAnAdd) {
  const SymbolicTensor x = image();
  const SymbolicTensor branch = relu(norm(conv(x, "conv"), "norm"), "relu");
  const Model model(x, conv(add({x, branch}), "end"));
  EXPECT_EQ(edges_for(model),
            (Strings{"conv 0 P01", "add 0 P04", "end 0 P01"}));
  EXPECT_EQ(note_of(model, "norm"), "P02: fuses with conv");
}

TEST(TensorrtNormalization, HasQdqBetweenAnActivationAndAnAdd) {
  const SymbolicTensor x = image();
  const SymbolicTensor late = norm(relu(conv(x, "conv"), "relu"), "norm");
  EXPECT_EQ(edges_for(Model(x, conv(add({x, late}), "end"))),
            (Strings{"conv 0 P01", "norm 0 P03", "add 0 P06", "add 1 P06",
                     "end 0 P01"}));
}

TEST(TensorrtNormalization, HasNoneBeforeAFloatMergeButBeforeSilu) {
  const SymbolicTensor x = image();
  const SymbolicTensor y = norm(x, "norm");
  const Model merged(x, conv(Maximum()({x, y}), "end"));
  EXPECT_EQ(edges_for(merged), (Strings{"end 0 P01"}));
  const Model silu(x, conv(Multiply()({y, Activation("sigmoid")(y)}), "end"));
  EXPECT_EQ(edges_for(silu), (Strings{"norm 0 P03", "end 0 P01"}));
}

TEST(TensorrtNormalization, SharesTheQuantizerOfItsTensor) {
  const SymbolicTensor x = image();
  const SymbolicTensor y = relu(x, "y");
  const Model model({x}, {conv(y, "a"), conv(norm(y, "norm"), "b")});
  const QdqPlan plan = plan_for(model);
  EXPECT_EQ(point_at(plan, "norm").group, "y");
  EXPECT_EQ(point_at(plan, "a").group, "y");
}

// Average pools.

TEST(TensorrtAveragePool, HasQdqIfAnInt8LayerFollows) {
  const SymbolicTensor x = image();
  const auto model = [&](const SymbolicTensor& y) {
    return Model(x, dense(y, "end"));
  };
  const Strings both{"pool 0 P11", "end 0 P01"};
  EXPECT_EQ(edges_for(model(average(x, "pool"))), both);
  EXPECT_EQ(edges_for(model(Flatten()(AveragePooling2D({.name = "pool"})(x)))),
            both);
  const Model through = model(Reshape({.target_shape = {2, 2}})(
      relu(Dropout()(average(x, "pool")), "relu")));
  EXPECT_EQ(edges_for(through), both);
  EXPECT_EQ(point_at(plan_for(through), "pool").reason,
            "averages image in INT8, as end reads it");
}

TEST(TensorrtAveragePool, HasNoneOtherwise) {
  const SymbolicTensor x = image();
  const Model to_output(x, relu(average(x, "pool"), "relu"));
  EXPECT_EQ(edges_for(to_output), Strings{});
  EXPECT_EQ(note_of(to_output, "pool"), "P11: no successor is quantized");
  const Model to_norm(x,
                      dense(LayerNormalization()(average(x, "pool")), "end"));
  EXPECT_EQ(edges_for(to_norm), (Strings{"end 0 P01"}));
  const Model to_float(x, dense(average(x, "pool"), "end"));
  EXPECT_EQ(edges_for(to_float, without({"end"})), Strings{});
}

TEST(TensorrtAveragePool, HasNoneBeforeAFloatMerge) {
  const SymbolicTensor x = image();
  const SymbolicTensor y = average(x, "pool");
  const Model model(x, dense(Maximum()({relu(y, "relu"), y}), "end"));
  EXPECT_EQ(edges_for(model), (Strings{"end 0 P01"}));
}

TEST(TensorrtAveragePool, CanBeSwitchedOff) {
  const SymbolicTensor x = image();
  const Model model(x, dense(average(x, "pool"), "end"));
  const QuantizeOptions options{.tensorrt = {.average_pools = false}};
  EXPECT_EQ(edges_for(model, options), (Strings{"end 0 P01"}));
  EXPECT_EQ(note_of(model, "pool", options),
            "P11: average_pools = false skips it");
}

TEST(TensorrtAveragePool, CausesQdqForTheNormalizationBeforeIt) {
  const SymbolicTensor x = image();
  const Model model(
      x, dense(average(relu(norm(x, "norm"), "relu"), "pool"), "end"));
  EXPECT_EQ(edges_for(model),
            (Strings{"norm 0 P03", "pool 0 P11", "end 0 P01"}));
  EXPECT_EQ(edges_for(model, {.tensorrt = {.average_pools = false}}),
            (Strings{"end 0 P01"}));
}

// Max pools.

TEST(TensorrtMaxPool, HasNoSeparateQdq) {
  const SymbolicTensor x = image();
  const Model model(x, conv(max_pool(x, "pool"), "end"));
  EXPECT_EQ(edges_for(model), (Strings{"end 0 P01"}));
  EXPECT_EQ(note_of(model, "pool"), "P10: Q/DQ moves through it from end");
  EXPECT_EQ(note_of(Model(x, max_pool(x, "pool")), "pool"),
            "P10: no successor is quantized");
}

TEST(TensorrtMaxPool, SharesTheQuantizerOfOtherConsumers) {
  const SymbolicTensor x = image();
  const SymbolicTensor y = relu(x, "y");
  const Model model({x}, {conv(y, "a"), conv(y, "b"),
                          conv(Dropout()(max_pool(y, "pool")), "end")});
  const QdqPlan plan = plan_for(model);
  EXPECT_THAT(edges(plan),
              ::testing::UnorderedElementsAre("a 0 P01", "b 0 P01",
                                              "pool 0 P12", "end 0 P01"));
  EXPECT_EQ(point_at(plan, "pool").reason, "one quantizer of y with a and b");
  EXPECT_EQ(point_at(plan, "pool").group, "y");
  EXPECT_EQ(edges_for(model, without({"a", "b"})), (Strings{"end 0 P01"}));
}

TEST(TensorrtMaxPool, HasTheSharedQdqBeforeItsPad) {
  const SymbolicTensor x = image();
  const SymbolicTensor y = relu(x, "y");
  const SymbolicTensor pad = ZeroPadding2D({.name = "pad"})(y);
  const SymbolicTensor a = conv(y, "a");
  const Model model({x}, {a, conv(max_pool(pad, "pool"), "end")});
  const QdqPlan plan = plan_for(model);
  EXPECT_THAT(edges(plan), ::testing::UnorderedElementsAre(
                               "pad 0 P20", "a 0 P01", "end 0 P01"));
  EXPECT_EQ(point_at(plan, "pad").reason,
            "before the pad of pool; one quantizer of y with a");
  EXPECT_EQ(note_of(model, "pool"), "P20: its Q/DQ is before the pad");
  // Another consumer of the pad.
  const Model two({x}, {a, max_pool(pad, "pool"), relu(pad, "r")});
  EXPECT_EQ(edges_for(two), (Strings{"a 0 P01"}));
  const Model with_conv({x}, {max_pool(pad, "pool"), conv(pad, "end")});
  EXPECT_EQ(edges_for(with_conv), (Strings{"pool 0 P12", "end 0 P01"}));
}

/// x, with a normalization and a pool as consumers; the pool's output enters an
/// Add.
struct PooledShortcut {
  SymbolicTensor x = image();
  SymbolicTensor y = relu(x, "y");
  SymbolicTensor pool = max_pool(y, "pool");
  SymbolicTensor main = Conv2D(
      {.filters = 4, .kernel_size = {2, 2}, .strides = {2, 2}, .name = "main"})(
      relu(norm(y, "norm"), "relu"));
  Model model{x, conv(add({pool, main}), "end")};
};

TEST(TensorrtMaxPool, MakesQdqOfItsAddUnnecessary) {
  const PooledShortcut net;
  EXPECT_THAT(edges_for(net.model),
              ::testing::UnorderedElementsAre("norm 0 P03", "pool 0 P12",
                                              "main 0 P01", "end 0 P01"));
  EXPECT_EQ(note_of(net.model, "add"),
            "P10: pooled shortcut: outputs of pool are already quantized");
  const Model second(net.x, conv(add({relu(net.pool, "r"), net.pool}), "end"));
  EXPECT_EQ(edges_for(second), (Strings{"add 0 P06", "add 1 P06", "end 0 P01"}))
      << "the pool is not quantized here";
}

TEST(TensorrtMaxPool, NeedsQdqToFreeItsAdd) {
  const PooledShortcut net;
  EXPECT_EQ(edges_for(net.model, without({"pool"})),
            (Strings{"norm 0 P03", "main 0 P01", "add 0 P04", "end 0 P01"}));
  QuantizeOptions options;
  options.spec.add("pool");
  options.spec.add("norm", {.quantize_input = false});
  EXPECT_EQ(edges_for(net.model, options),
            (Strings{"pool 0 user", "main 0 P01", "end 0 P01"}));
}

TEST(TensorrtMaxPool, CalledSeveralTimesSharesNoQuantizer) {
  const SymbolicTensor x = image();
  const MaxPooling2D shared({.pool_size = {1, 1}, .name = "pool"});
  const SymbolicTensor y = shared(x);
  const Model model({x}, {conv(x, "a"), conv(y, "b"), conv(shared(y), "c")});
  EXPECT_THAT(edges_for(model),
              ::testing::UnorderedElementsAre("a 0 P01", "b 0 P01", "c 0 P01"));
}

// Concatenate.

TEST(TensorrtConcatenate, HasNoneAtItsInputs) {
  const SymbolicTensor x = image();
  const SymbolicTensor joined = Concatenate({.name = "concat"})(
      {relu(conv(x, "a"), "ra"), conv(x, "b", 2)});
  const Model model(x, conv(joined, "end"));
  EXPECT_EQ(edges_for(model), (Strings{"a 0 P01", "b 0 P01", "end 0 P01"}));
  EXPECT_EQ(note_of(model, "concat"), "P14: Q/DQ moves through it from end");
  EXPECT_EQ(note_of(Model(x, joined), "concat"),
            "P14: no successor is quantized");
}

TEST(TensorrtConcatenate, ReportsInputsWithAnotherScale) {
  const SymbolicTensor x = image();
  const SymbolicTensor a = conv(x, "a");
  const SymbolicTensor skip = conv(relu(x, "on"), "skip");
  const SymbolicTensor deep = UpSampling2D()(conv(max_pool(skip, "p"), "deep"));
  const Model model(
      x, conv(Concatenate({.name = "concat"})({a, skip, deep, conv(a, "b")}),
              "end"));
  EXPECT_EQ(note_of(model, "concat"),
            "P14: Q/DQ moves through it from end; a has another scale for b; "
            "skip has another scale for deep");
}

TEST(TensorrtConcatenate, IsTransparentForNormalization) {
  const SymbolicTensor x = image();
  const Model model(
      x, conv(Concatenate()({norm(x, "norm"), conv(x, "b")}), "end"));
  EXPECT_EQ(edges_for(model), (Strings{"norm 0 P03", "b 0 P01", "end 0 P01"}));
}

// Multiply.

SymbolicTensor product_of(const SymbolicTensor& a, const SymbolicTensor& b) {
  return Multiply({.name = "multiply"})({a, b});
}

SymbolicTensor gate(const SymbolicTensor& x, const std::string& activation) {
  return Reshape({.target_shape = {1, 1, 4}})(
      Dense({.units = 4, .activation = activation, .name = "gate"})(
          average(x, "squeeze")));
}

TEST(TensorrtMultiply, OfSqueezeAndExciteHasQdqAtBothInputs) {
  const SymbolicTensor x = image();
  const SymbolicTensor y = relu(conv(x, "conv"), "y");
  const Strings expected{"conv 0 P01",     "squeeze 0 P11",  "gate 0 P01",
                         "multiply 0 P15", "multiply 1 P15", "end 0 P01"};
  for (const char* activation : {"sigmoid", "hard_sigmoid", "linear"}) {
    const Model model(x, conv(product_of(y, gate(y, activation)), "end"));
    EXPECT_EQ(edges_for(model), expected) << activation;
  }
  const Model model(x, conv(product_of(gate(y, "sigmoid"), y), "end"));
  const QdqPlan plan = plan_for(model);
  EXPECT_EQ(edges(plan), expected);
  EXPECT_THAT(point_at(plan, "multiply", 0).reason,
              StartsWith("gate reshape;"));
  EXPECT_EQ(point_at(plan, "multiply", 1).reason, "y, which reshape gates");
  EXPECT_EQ(point_at(plan, "multiply", 1).group,
            point_at(plan, "squeeze").group);
}

TEST(TensorrtMultiply, ByASigmoidOfEveryPixelIsAGate) {
  const SymbolicTensor x = image();
  const SymbolicTensor y = relu(x, "y");
  const Model model(
      x, conv(product_of(y, Activation("sigmoid")(conv(y, "mask", 1))), "end"));
  EXPECT_EQ(edges_for(model), (Strings{"mask 0 P01", "multiply 0 P15",
                                       "multiply 1 P15", "end 0 P01"}));
}

TEST(TensorrtMultiply, FindsTheSigmoidBehindLayersThatMoveValues) {
  const SymbolicTensor x = image();
  const SymbolicTensor y = Flatten()(relu(x, "y"));
  const SymbolicTensor mask =
      Activation("sigmoid")(conv(relu(x, "on"), "mask"));
  const Model model(x, dense(product_of(y, Flatten()(mask)), "end"));
  EXPECT_EQ(edges_for(model), (Strings{"mask 0 P01", "multiply 0 P15",
                                       "multiply 1 P15", "end 0 P01"}));
}

TEST(TensorrtMultiply, ByItsOwnSigmoidIsSiluAndFuses) {
  const SymbolicTensor x = image();
  const SymbolicTensor y = norm(conv(x, "conv"), "y");
  for (const char* function : {"sigmoid", "hard_sigmoid"}) {
    const SymbolicTensor s = Activation(function, "s")(y);
    for (const auto& product : {product_of(y, s), product_of(s, y)}) {
      const Model model(x, conv(product, "end"));
      EXPECT_EQ(edges_for(model), (Strings{"conv 0 P01", "end 0 P01"}));
      EXPECT_THAT(note_of(model, "multiply"),
                  StartsWith("P15: x * sigmoid(x) "));
    }
  }
}

TEST(TensorrtMultiply, OfOtherKindsHasNone) {
  const SymbolicTensor x = image();
  const Model model(x, conv(product_of(relu(x, "a"), conv(x, "b")), "end"));
  EXPECT_EQ(edges_for(model), (Strings{"b 0 P01", "end 0 P01"}));
  EXPECT_EQ(note_of(model, "multiply"),
            "P15: no input is a gate (a sigmoid, or a single pixel per image)");
}

TEST(TensorrtMultiply, HasNoneWithoutAnInt8ConsumerOrIfSwitchedOff) {
  const SymbolicTensor x = image();
  const Model last(x, product_of(x, gate(x, "sigmoid")));
  EXPECT_EQ(edges_for(last), (Strings{"squeeze 0 P11", "gate 0 P01"}));
  EXPECT_EQ(note_of(last, "multiply"), "P15: no successor is quantized");
  const Model model(x, conv(product_of(x, gate(x, "sigmoid")), "end"));
  const QuantizeOptions off{.tensorrt = {.squeeze_excite = false}};
  EXPECT_EQ(edges_for(model, off),
            (Strings{"squeeze 0 P11", "gate 0 P01", "end 0 P01"}));
  EXPECT_EQ(note_of(model, "multiply", off),
            "P15: squeeze_excite = false skips Multiply");
}

// Softmax and LayerNormalization.

TEST(TensorrtFloat, LayersStayFloatBetweenInt8Ones) {
  const SymbolicTensor x = image();
  const SymbolicTensor y = LayerNormalization({.name = "norm"})(conv(x, "a"));
  const SymbolicTensor z = Activation("softmax", "soft")(conv(y, "b"));
  const Model model(x, conv(Softmax({.name = "max"})(conv(z, "c")), "d"));
  EXPECT_EQ(edges_for(model),
            (Strings{"a 0 P01", "b 0 P01", "c 0 P01", "d 0 P01"}));
  for (const char* layer : {"norm", "soft", "max"}) {
    EXPECT_EQ(note_of(model, layer),
              "P17: stays float, as TensorRT fuses it as a whole");
  }
}

}  // namespace
}  // namespace octet::quant
