// Keras classifiers end in a softmax: training, quantization and export of
// imported ones.
#include <filesystem>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/keras.h>
#include <octet/io/onnx_reference.h>
#include <octet/octet.h>

#include "tests/support.h"
#include "tests/temp_folder.h"
#include "tests/testdata.h"

namespace octet::io {
namespace {

class KerasSoftmax : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(path_)) GTEST_SKIP() << path_ << " is missing";
  }

  Model load() const { return load_keras(path_); }

  /// Random spectra of 12 classes.
  static Dataset data() {
    Tensor labels(Shape{24}, DType::i64);
    int64_t next = 0;
    for (int64_t& label : labels.data<int64_t>()) label = next++ % 12;
    return Dataset(noise({24, 49, 10, 1}, 3), labels);
  }

  static void train(Model& model) {
    train::fit(
        model, data(),
        {.batch_size = 12, .optimizer = train::SGD({.learning_rate = 0.01f})});
  }

  std::filesystem::path path_ = testdata("models/kws_ref_model_converted.h5");
};

TEST_F(KerasSoftmax, TrainsLikeItsLogits) {
  Model model = load();
  EXPECT_EQ(train::output_activation(model), "softmax");
  Model logits = train::logits_model(model);
  train(model);
  train(logits);
  const auto ours = model.parameters();
  const auto theirs = logits.parameters();
  ASSERT_EQ(ours.size(), theirs.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(bits(ours[i].variable), bits(theirs[i].variable)) << ours[i].name;
  }
  const Tensor x = data().batch(0, 8).input();
  EXPECT_EQ(bits(softmax(Variable(logits.predict(x)))), bits(model.predict(x)));
}

// Octet's import agrees with the standard's reference, node by node.
TEST_F(KerasSoftmax, IsExportedInEitherForm) {
  const TempFolder folder;
  const Tensor x = data().batch(0, 8).input();
  const auto expect_exported = [&](const Model& model) {
    const auto file = folder / "model.onnx";
    export_onnx(model, file);
    const Tensor ours = model.predict(x);
    const Tensor theirs =
        load_onnx_reference(file).predict(x.transposed({0, 3, 1, 2}));
    ASSERT_EQ(theirs.size(), ours.size());
    for (int64_t i = 0; i < ours.size(); ++i) {
      const auto at = static_cast<size_t>(i);
      // A value of the last INT8 tensor may round differently.
      EXPECT_NEAR(theirs.f32()[at], ours.f32()[at], 0.02f);
    }
  };
  const Model model = load();
  Model qat = quant::quantize_model(model);
  train::fit(qat, data(),
             {.batch_size = 12,
              .optimizer = train::SGD({.learning_rate = 0.01f}),
              .calibrate = quant::CalibrationOptions{}});
  expect_exported(model);
  expect_exported(train::logits_model(model));
  expect_exported(qat);
}

}  // namespace
}  // namespace octet::io
