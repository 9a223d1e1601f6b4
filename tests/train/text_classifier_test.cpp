// A text classifier of embeddings, positions and a transformer block learns
// which of two words comes first; quantized, exported, and run by the
// reference.
#include <algorithm>

#include <gtest/gtest.h>

#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/layers/embedding.h>
#include <octet/layers/layers.h>
#include <octet/quant/calibrate.h>
#include <octet/quant/quantize_model.h>
#include <octet/runtime/dataset.h>
#include <octet/train/evaluate.h>
#include <octet/train/fit.h>
#include <octet/train/optimizer.h>

namespace octet::train {
namespace {

constexpr int64_t kLength = 12;
constexpr int64_t kWords = 20;

// Words 1 and 2 at two of the first `length` places, others around them, then
// padding. The label depends on the order of words 1 and 2, not on counts.
Dataset sentences(int64_t n, uint64_t seed) {
  Tensor ids({n, kLength}, DType::i32);
  Tensor labels(Shape{n}, DType::i64);
  Rng rng(seed);
  Tensor draws({n, kLength + 3});
  rng.fill_uniform(draws, 0, 1);
  for (int64_t i = 0; i < n; ++i) {
    const auto draw = [&](int64_t at, int64_t count) {
      const float u = draws.f32()[static_cast<size_t>(i * (kLength + 3) + at)];
      return std::min(static_cast<int64_t>(u * static_cast<float>(count)),
                      count - 1);
    };
    int32_t* row = ids.data<int32_t>().data() + i * kLength;
    const int64_t length = 6 + draw(kLength, kLength - 5);
    for (int64_t t = 0; t < kLength; ++t) {
      row[t] = t < length ? static_cast<int32_t>(3 + draw(t, kWords - 3)) : 0;
    }
    const int64_t first = draw(kLength + 1, length - 1);
    const int64_t second = first + 1 + draw(kLength + 2, length - 1 - first);
    const int64_t label = i % 2;
    row[first] = static_cast<int32_t>(1 + label);
    row[second] = static_cast<int32_t>(2 - label);
    labels.data<int64_t>()[i] = label;
  }
  return Dataset(ids, labels);
}

Model classifier() {
  const SymbolicTensor ids = input({kLength}, "ids");
  SymbolicTensor x = Embedding({.input_dim = kWords,
                                .output_dim = 16,
                                .embeddings_initializer = random_normal(0, 0.3),
                                .mask_zero = true,
                                .name = "words"})(ids);
  x = PositionEmbedding(
      {.embedding_initializer = random_normal(0, 0.3), .name = "places"})(x);
  x = transformer_block(x, {.num_heads = 2, .mlp_dim = 32, .name = "block"});
  x = GlobalAveragePooling1D({.name = "mean"})(x);
  return Model(ids, Dense({.units = 2, .name = "scores"})(x), {.seed = 3});
}

// Chance is 0.5, and a model without positions or attention stays there: the
// words of both classes are the same.
TEST(TextClassifier, TrainsQuantizesAndExports) {
  Model model = classifier();
  const Dataset test = sentences(400, 2);
  fit(model, sentences(1200, 1),
      {.epochs = 25,
       .batch_size = 32,
       .optimizer = Adam({.learning_rate = 0.004f})});
  const double accuracy = evaluate(model, test).accuracy;
  EXPECT_GE(accuracy, 0.95);

  Model int8 = quant::quantize_model(model);
  const Tensor samples = test.batch(0, 100).input();
  quant::calibrate(int8, [&](const Model& m) { (void)m.predict(samples); });
  EXPECT_GE(evaluate(int8, test).accuracy, accuracy - 0.02);

  const io::OnnxFile file = io::to_onnx(int8);
  // Dense layers of the attention, of the perceptron, and the last one.
  EXPECT_GE(file.report.qdq_pairs, 14);
  const Tensor expected = int8.predict(samples);
  Tensor indices(samples.shape(), DType::i64);
  std::ranges::transform(samples.f32(), indices.data<int64_t>().begin(),
                         [](float v) { return static_cast<int64_t>(v); });
  const Tensor y = io::onnx_reference_from_bytes(file.bytes).predict(indices);
  ASSERT_EQ(y.shape(), expected.shape());
  for (size_t i = 0; i < y.f32().size(); ++i) {
    EXPECT_NEAR(y.f32()[i], expected.f32()[i], 0.05f) << i;
  }
}

}  // namespace
}  // namespace octet::train
