// Options of recurrent layers in Keras files, and masks that merging layers
// apply. Outputs: keras_golden_test.cpp.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/layers.h>
#include <octet/runtime/error.h>

#include "keras_forms.h"

namespace octet::io {
namespace {

using ::testing::HasSubstr;

std::string with_sequences(const std::string& layer) {
  return keras_sequential({keras_input("i", "[null,5,3]"), layer});
}

Config config_of(const std::string& options,
                 const std::string& class_name = "LSTM",
                 const std::string& version = "2.15.0") {
  const TempFolder folder;
  const int64_t width = class_name == "LSTM" ? 8 : 6;
  KerasFile(with_sequences(keras_layer(
                class_name, "r", R"("units":2,"use_bias":false,)" + options)),
            version)
      .layer("r", {{"kernel:0", Tensor::zeros({3, width})},
                   {"recurrent_kernel:0", Tensor::zeros({2, width})}})
      .write(folder / "m.h5");
  const Model model = load_keras(folder / "m.h5");
  return model.layer("r").config();
}

std::string refusal_of(const std::string& class_name,
                       const std::string& options) {
  return failure_of<UnsupportedError>([&] {
           (void)keras_model(
               with_sequences(keras_layer(class_name, "r", options)));
         })
      .message;
}

TEST(KerasRecurrent, HasTheFunctionsOfTheVersion) {
  const std::string hard = R"("recurrent_activation":"hard_sigmoid")";
  EXPECT_EQ(config_of(hard).at("recurrent_activation"),
            Config("hard_sigmoid_v2"));
  EXPECT_EQ(config_of(hard, "LSTM", "3.5.0").at("recurrent_activation"),
            Config("hard_sigmoid"));
  // Null is linear, not the default.
  EXPECT_EQ(config_of(R"("activation":null)").at("activation"),
            Config("linear"));
  EXPECT_EQ(
      config_of(R"("activation":{"class_name":"function","config":"relu"})")
          .at("activation"),
      Config("relu"));
  EXPECT_EQ(
      config_of(R"("inner_activation":"tanh")").at("recurrent_activation"),
      Config("tanh"));
}

TEST(KerasRecurrent, ResetsBeforeTheProductInFilesWithoutTheOption) {
  EXPECT_EQ(config_of(R"("unroll":true)", "GRU").at("reset_after"),
            Config(false));
  EXPECT_EQ(config_of(R"("reset_after":true)", "GRU").at("reset_after"),
            Config(true));
}

TEST(KerasRecurrent, RejectsStatesAndOtherFunctions) {
  for (const char* option : {"stateful", "time_major"}) {
    const std::string options =
        R"("units":2,")" + std::string(option) + R"(":true)";
    EXPECT_THAT(refusal_of("GRU", options), HasSubstr(option));
  }
  EXPECT_THAT(refusal_of("LSTM", R"("units":2,"activation":{"class_name":3})"),
              HasSubstr("name of a function"));
  EXPECT_THAT(failure_of<FormatError>([&] {
                (void)config_of(R"("activation":"softmax")");
              }).message,
              HasSubstr("softmax"));
}

// The state was reported as an output out of range.
TEST(KerasRecurrent, RejectsConsumersOfStatesOfBidirectional) {
  const std::string gru =
      keras_layer("GRU", "g", R"("units":2,"return_state":true)");
  const std::string states = keras_layer(
      "Bidirectional", "states", R"("layer":)" + gru, R"([[["i",0,0,{}]]])");
  const std::string consumer =
      keras_layer("Dense", "d", R"("units":2)", R"([[["states",0,1,{}]]])");
  EXPECT_THAT(failure_of<UnsupportedError>([&] {
                (void)keras_model(keras_functional(
                    {keras_input("i", "[null,5,3]"), states, consumer},
                    R"([["i",0,0]])", R"([["d",0,0]])"));
              }).message,
              HasSubstr("of layer 'states' (Bidirectional)"));
}

TEST(KerasRecurrent, RejectsOtherBidirectionalLayers) {
  const auto both = [](const std::string& inner, const std::string& more) {
    return refusal_of("Bidirectional", R"("layer":)" + inner + more);
  };
  const std::string gru = keras_layer("GRU", "g", R"("units":2)");
  EXPECT_THAT(both(gru, R"(,"merge_mode":null)"), HasSubstr("merge_mode"));
  EXPECT_THAT(both(gru, R"(,"merge_mode":"max")"), HasSubstr("merge_mode"));
  EXPECT_THAT(both(keras_layer("Dense", "d", R"("units":2)"), ""),
              HasSubstr("'d' (Dense)"));
  EXPECT_THAT(
      both(keras_layer("GRU", "g", R"("units":2,"go_backwards":true)"), ""),
      HasSubstr("go_backwards"));
  EXPECT_THAT(both(gru, R"(,"backward_layer":)" +
                            keras_layer("GRU", "b",
                                        R"("units":3,"go_backwards":true)")),
              HasSubstr("'units'"));
}

std::string call_of(const std::string& a, const std::string& b = "") {
  const auto tensor = [](const std::string& name) {
    return R"([")" + name + R"(",0,0,{}])";
  };
  return "[[" + tensor(a) + (b.empty() ? "" : "," + tensor(b)) + "]]";
}

/// Returns a model in which `merge` merges a masked sequence and itself or, if
/// `other` is set, a sequence with another mask; then `last`.
Model merged(const std::string& merge, bool other, const std::string& last,
             const std::string& version = "3.15.1") {
  const std::string options =
      last == "LSTM" ? R"("units":2,"use_bias":false)" : "";
  const std::string b = other ? "m2" : "m1";
  const TempFolder folder;
  KerasFile file(
      keras_functional(
          {keras_input("i", "[null,4,3]"),
           keras_layer("Masking", "m1", R"("mask_value":0.0)", call_of("i")),
           keras_layer("Masking", "m2", R"("mask_value":1.0)", call_of("i")),
           keras_layer(merge, "both", "", call_of("m1", b)),
           keras_layer(last, "last", options, call_of("both"))},
          R"([["i",0,0]])", R"([["last",0,0]])"),
      version);
  if (last == "LSTM") {
    file.layer("last", {{"kernel:0", Tensor::zeros({3, 8})},
                        {"recurrent_kernel:0", Tensor::zeros({2, 8})}});
  }
  file.write(folder / "m.h5");
  return load_keras(folder / "m.h5");
}

std::string refusal_of_merge(const std::string& merge, bool other,
                             const std::string& last) {
  return failure_of<UnsupportedError>([&] { (void)merged(merge, other, last); })
      .message;
}

// Keras 3 multiplies by 1 in a masked step of one input; the products of both
// inputs were used.
TEST(KerasMasks, RejectsProductsOfDifferentMasks) {
  for (const char* merge : {"Multiply", "Maximum", "Minimum"}) {
    EXPECT_THAT(refusal_of_merge(merge, true, "LSTM"),
                HasSubstr("must all have the same mask"));
  }
  EXPECT_NO_THROW(merged("Add", true, "LSTM"));
  EXPECT_NO_THROW(merged("Multiply", true, "LSTM", "2.15.0"));
}

TEST(KerasMasks, RejectsConsumersOfMaskedStepsOfAProduct) {
  for (const char* layer : {"Flatten", "GlobalMaxPooling1D", "Softmax"}) {
    EXPECT_THAT(refusal_of_merge("Multiply", false, layer),
                HasSubstr("must not consume masked steps"))
        << layer;
  }
  EXPECT_NO_THROW(merged("Multiply", false, "LSTM"));
  EXPECT_NO_THROW(merged("Multiply", false, "GlobalAveragePooling1D"));
  EXPECT_NO_THROW(merged("Multiply", false, "Flatten", "2.15.0"));
}

TEST(KerasMasks, WarnsOfMaskedStepsInOutputs) {
  const WarningCapture warnings;
  (void)merged("Multiply", false, "Activation");
  EXPECT_EQ(warnings.messages.at(0).code, "masked_steps");
}

TEST(KerasRecurrent, WarnsOfMaskedStepsAfterAnInitialState) {
  const WarningCapture warnings;
  (void)load_keras(keras_golden("k2_masked.h5"));
  EXPECT_THAT(warnings.messages, ::testing::Contains(::testing::Field(
                                     &Failure::code, "masked_steps")));
}

}  // namespace
}  // namespace octet::io
