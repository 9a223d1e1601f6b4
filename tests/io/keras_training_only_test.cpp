// Options of Keras layers that only affect training.
#include <cmath>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../support.h"
#include "../temp_folder.h"
#include "keras_files.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor row(std::initializer_list<float> values) {
  return Tensor::of<float>({static_cast<int64_t>(values.size())}, values);
}

// Inference is gamma (x - mean) / sqrt(variance + epsilon) + beta in any case.
TEST(KerasTrainingOptions, OfBatchRenormalizationAreSkippedWithANote) {
  const TempFolder folder;
  KerasFile(
      keras_sequential({keras_input("i", "[null,2]"),
                        keras_layer("BatchNormalizationV1", "bn",
                                    R"("axis":[1],"epsilon":0.5,"renorm":true,)"
                                    R"("renorm_clipping":{"rmax":3.0},)"
                                    R"("renorm_momentum":0.9,"fused":false,)"
                                    R"("virtual_batch_size":null)")}))
      .layer("bn", {{"gamma:0", row({2, 3})},
                    {"beta:0", row({1, -1})},
                    {"moving_mean:0", row({0.5f, 1})},
                    {"moving_variance:0", row({3.5f, 0.5f})},
                    {"renorm_mean:0", row({9, 9})},
                    {"renorm_stddev:0", row({9, 9})}})
      .write(folder / "m.h5");
  const WarningCapture warnings;
  const Model model = load_keras(folder / "m.h5");
  ASSERT_THAT(
      warnings.messages,
      ElementsAre(Failure{"layers_ignored", (folder / "m.h5").string()}));
  EXPECT_THAT(warnings.messages[0].text(), HasSubstr("renorm of layer 'bn'"));
  const Tensor y = model.predict(Tensor::of<float>({1, 2}, {2.5f, 3}));
  EXPECT_NEAR(y.f32()[0], 2 * 2.0 / std::sqrt(4.0) + 1, 1e-6);
  EXPECT_NEAR(y.f32()[1], 3 * 2.0 / std::sqrt(1.0) - 1, 1e-6);
}

TEST(KerasTrainingOptions, OfWeightsAndActivationsAreNoted) {
  const TempFolder folder;
  KerasFile(
      keras_sequential(
          {keras_input("i", "[null,2]"),
           keras_layer("Dense", "d",
                       R"("units":2,"use_bias":false,"kernel_constraint":)"
                       R"({"class_name":"MaxNorm","config":{}},)"
                       R"("activity_regularizer":null)")}))
      .layer("d", {{"kernel:0", Tensor::of<float>({2, 2}, {1, 0, 0, 1})}})
      .write(folder / "m.h5");
  const WarningCapture warnings;
  (void)load_keras(folder / "m.h5");
  ASSERT_THAT(
      warnings.messages,
      ElementsAre(Failure{"layers_ignored", (folder / "m.h5").string()}));
  EXPECT_THAT(warnings.messages[0].text(),
              HasSubstr("kernel_constraint of layer 'd'"));
}

}  // namespace
}  // namespace octet::io
