// MLPerf Tiny's keyword spotting network on real samples.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <octet/io/keras.h>
#include <octet/io/tflite.h>
#include <octet/quant/quant.h>
#include <octet/runtime/file.h>

#include "../testdata.h"
#include "support.h"

namespace octet::io {
namespace {

constexpr int64_t kFeatures = 49 * 10;

// Samples [count,49,10,1] from `first`.
Tensor keyword_samples(const std::string& bytes, int64_t first, int64_t count) {
  Tensor x({count, 49, 10, 1});
  for (int64_t i = 0; i < x.size(); ++i) {
    const auto q =
        static_cast<int8_t>(bytes[static_cast<size_t>(first * kFeatures + i)]);
    x.f32()[static_cast<size_t>(i)] = static_cast<float>(q - 83) * 0.5847029f;
  }
  return x;
}

int64_t largest_of(std::span<const float> row) {
  return std::ranges::max_element(row) - row.begin();
}

// All values of the file in real units.
Tensor dequantized(const Tensor& q, const TfliteTensorInfo& info) {
  Tensor y = Tensor::zeros(q.shape());
  for (size_t i = 0; i < static_cast<size_t>(q.size()); ++i) {
    y.f32()[i] =
        info.scale * static_cast<float>(q.data<int8_t>()[i] - info.zero_point);
  }
  return y;
}

Tensor quantized_by(const Tensor& x, const TfliteTensorInfo& info) {
  Tensor q = Tensor::zeros(x.shape(), DType::i8);
  for (size_t i = 0; i < static_cast<size_t>(x.size()); ++i) {
    const float value = std::nearbyint(x.f32()[i] / info.scale) +
                        static_cast<float>(info.zero_point);
    q.data<int8_t>()[i] =
        static_cast<int8_t>(std::clamp(value, -128.0f, 127.0f));
  }
  return q;
}

TEST(TfliteKeywords, AgreeWithEvaluationOnRealSamples) {
  const auto model_file = testdata("models/kws_ref_model_converted.h5");
  const auto samples_file = testdata("kws01/features_int8_1000x49x10.bin");
  const auto labels_file = testdata("kws01/labels_u8_1000.bin");
  if (!std::filesystem::exists(model_file) ||
      !std::filesystem::exists(samples_file)) {
    GTEST_SKIP() << "needs " << model_file << " and " << samples_file;
  }
  const std::string bytes = read_file(samples_file);
  const std::string labels = read_file(labels_file);
  Model int8 = quant::quantize_model(load_keras(model_file),
                                     {.policy = quant::Policy::tflite});
  quant::calibrate(
      int8,
      [&](const Model& m) {
        (void)m(Variable(keyword_samples(bytes, 0, 200)));
      },
      {.method = quant::Calibration::percentile, .percentile = 99.999f});
  const TfliteModel file = tflite_from_bytes(to_tflite(int8).bytes);
  constexpr int64_t kFirst = 200, kCount = 300;
  const Tensor x = keyword_samples(bytes, kFirst, kCount);
  const Tensor expected = int8.predict(x);
  const TfliteTensorInfo& output = file.outputs()[0];
  const Tensor got =
      dequantized(file.predict(quantized_by(x, file.inputs()[0])), output);
  int64_t near = 0, agree = 0, correct = 0;
  for (int64_t n = 0; n < kCount; ++n) {
    const auto classes = static_cast<size_t>(expected.shape()[1]);
    const auto at = static_cast<size_t>(n) * classes;
    const auto a = std::as_const(expected).f32().subspan(at, classes);
    const auto b = std::as_const(got).f32().subspan(at, classes);
    for (size_t c = 0; c < classes; ++c) {
      near += std::abs(a[c] - b[c]) <= 1.01f * output.scale;
    }
    agree += largest_of(a) == largest_of(b);
    correct += largest_of(b) ==
               static_cast<uint8_t>(labels[static_cast<size_t>(kFirst + n)]);
  }
  const auto share = [](int64_t part, int64_t all) {
    return static_cast<double>(part) / static_cast<double>(all);
  };
  // Probabilities amplify single steps of the logits.
  EXPECT_GE(share(near, expected.size()), 0.95);
  EXPECT_GE(share(agree, kCount), 0.99);
  EXPECT_GE(share(correct, kCount), 0.9);
}

}  // namespace
}  // namespace octet::io
