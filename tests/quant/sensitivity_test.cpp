// Ranking of layers by their quantization loss.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/quant/sensitivity.h>

#include "support.h"

namespace octet::quant {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Model chain() {
  const SymbolicTensor x = input({6}, "x");
  SymbolicTensor y = Dense({.units = 17, .name = "first"})(x);
  y = Dense({.units = 9, .name = "second"})(ReLU()(y));
  return Model(x, Dense({.units = 3, .name = "third"})(ReLU()(y)));
}

Dataset some(int64_t n) {
  return Dataset(noise({n, 6}), Tensor::zeros({n}, DType::i64));
}

Model calibrated_on(const Model& model, const Dataset& data,
                    const QuantizeOptions& options) {
  Model result = quantize_model(model, options);
  calibrate(result, data, {.method = Calibration::max});
  return result;
}
Model calibrated(const Model& model, const QuantizeOptions& options = {}) {
  return calibrated_on(model, some(64), options);
}

std::shared_ptr<Quantizer> quantizer_of(Model& model, const std::string& name) {
  for (const auto& each : quantizers(model)) {
    if (each->name() == name) return each;
  }
  throw NotFoundError("unknown_name", name, "no such quantizer");
}

const LayerSensitivity& layer_of(const Sensitivity& s, const char* name) {
  for (const LayerSensitivity& layer : s.layers) {
    if (layer.layer == name) return layer;
  }
  throw NotFoundError("unknown_name", name, "not found");
}

std::string first_line(const Sensitivity& s) {
  const std::string text = s.to_string();
  return text.substr(0, text.find('\n'));
}

TEST(Sensitivity, BlamesTheTensorThatIsClipped) {
  Model model = calibrated(chain());
  const auto before = sensitivity(model, some(64));
  EXPECT_THAT(before.to_string(), Not(HasSubstr("clipped:")));
  const auto bad = quantizer_of(model, "re_lu");
  bad->set_scale(*bad->scale() / 8);
  const Sensitivity s = sensitivity(model, some(64));
  EXPECT_THAT(first_line(s),
              AllOf(StartsWith("Largest loss: inputs of 'second'"),
                    HasSubstr("clipped")));
  const LayerSensitivity& second = layer_of(s, "second");
  EXPECT_LT(*second.activations, *second.weights - 10);
  EXPECT_GT(second.without.sqnr, s.all.sqnr + 10);
}

// Channels of unequal ranges, of which the outputs need the small ones.
Model spread(const char* activation) {
  const SymbolicTensor x = input({6}, "x");
  SymbolicTensor y = Dense({.units = 8, .name = "first"})(x);
  y = Activation(activation, {.name = "act"})(y);
  Model model(x, Dense({.units = 3, .use_bias = false, .name = "second"})(y));
  const auto scale = [&](const char* layer, size_t from, size_t step,
                         size_t count, float factor) {
    const Variable& kernel = model.layer(layer).parameter("kernel").variable;
    Tensor scaled = kernel.value().clone();
    for (size_t i = 0; i < count; ++i) scaled.f32()[from + step * i] *= factor;
    Variable(kernel).assign(scaled);
  };
  scale("first", 2, 8, 6, 1e4f);
  scale("second", 6, 1, 3, 1e-4f);
  return model;
}

TEST(Sensitivity, BlamesTheWorstChannelAndSuggestsEqualization) {
  const Sensitivity s = sensitivity(calibrated(spread("relu")), some(64));
  EXPECT_LT(s.all.sqnr, 15);
  const auto tensor =
      std::ranges::find(s.tensors, "act", &TensorSensitivity::quantizer);
  ASSERT_NE(tensor, s.tensors.end());
  // The pooled SQNR does not show it.
  EXPECT_GT(tensor->sqnr, 30);
  ASSERT_TRUE(tensor->worst_channel);
  EXPECT_NE(tensor->worst_channel->channel, 2);
  EXPECT_LT(tensor->worst_channel->sqnr, 5);
  EXPECT_TRUE(layer_of(s, "second").equalizable);
  EXPECT_FALSE(layer_of(s, "first").equalizable);
  EXPECT_THAT(s.blame(), HasSubstr("equalize()"));
  Model equal = spread("relu");
  equalize(equal);
  const Sensitivity cured = sensitivity(calibrated(equal), some(64));
  EXPECT_GT(cured.all.sqnr, 25);
  EXPECT_THAT(cured.blame(), Not(HasSubstr("equalize")));
}

TEST(Sensitivity, SuggestsNoEqualizationIfItDoesNotApply) {
  const Sensitivity s = sensitivity(calibrated(spread("tanh")), some(64));
  EXPECT_FALSE(layer_of(s, "second").equalizable);
  EXPECT_THAT(s.blame(), Not(HasSubstr("equalize")));
}

// Small input channels of weights are lost by scales per output channel.
TEST(Sensitivity, BlamesTheWorstInputChannelOfWeights) {
  Model net = spread("relu");
  Model model = quantize_model(net);
  calibrate(model, some(64), {.method = Calibration::max});
  const Sensitivity s = sensitivity(model, some(64));
  const auto& channel = layer_of(s, "second").weight_channel;
  ASSERT_TRUE(channel);
  EXPECT_EQ(channel->channel, 2);
  EXPECT_NEAR(channel->sqnr, 0, 0.1);
}

TEST(Sensitivity, BlamesWeightsOfFewBits) {
  QuantizeOptions options;
  options.bits = {{.layer = "third", .weight = 2}};
  const Sensitivity s = sensitivity(calibrated(chain(), options), some(64));
  EXPECT_THAT(first_line(s), StartsWith("Largest loss: weights of 'third'"));
  EXPECT_LT(*layer_of(s, "third").weights, *layer_of(s, "first").weights - 20);
}

// A single layer: alone it equals the model, without it nothing is lost.
TEST(Sensitivity, ComparesOutputsWithTheFloatModel) {
  const SymbolicTensor x = input({6}, "x");
  const Model net(x, Dense({.units = 5, .name = "only"})(x));
  const Model model = calibrated(net);
  const Dataset data = some(10);
  const Sensitivity s = sensitivity(model, data, {.samples = 0});
  const Tensor samples = data.batch(0, 10).input();
  const Tensor exact = net.predict(samples);
  const Tensor rounded = model.predict(samples);
  double signal = 0, error = 0;
  for (size_t i = 0; i < exact.f32().size(); ++i) {
    signal += std::pow(exact.f32()[i], 2.0);
    error += std::pow(double{exact.f32()[i]} - rounded.f32()[i], 2.0);
  }
  EXPECT_EQ(s.samples, 10);
  ASSERT_EQ(s.layers.size(), 1u);
  EXPECT_NEAR(s.all.sqnr, 10 * std::log10(signal / error), 1e-6);
  EXPECT_EQ(s.layers[0].alone.sqnr, s.all.sqnr);
  EXPECT_EQ(s.layers[0].without.sqnr, INFINITY);
  EXPECT_THAT(s.to_string(), HasSubstr("exact"));
  // Rounding noise: 6.02 dB per bit, reduced by a range of four standard
  // deviations.
  ASSERT_EQ(s.tensors.size(), 1u);
  EXPECT_EQ(s.tensors[0].clipped, 0);
  EXPECT_GT(s.tensors[0].sqnr, 35);
}

TEST(Sensitivity, ReportsAccuracyForClassLabels) {
  const Model net = chain();
  const Tensor x = noise({40, 6});
  const Tensor y = net.predict(x);
  Tensor labels({40}, DType::i64);
  for (size_t i = 0; i < 40; ++i) {
    const auto row = y.f32().subspan(3 * i, 3);
    labels.data<int64_t>()[i] = std::ranges::max_element(row) - row.begin();
  }
  const Dataset data(x, labels);
  const Sensitivity s = sensitivity(calibrated(net), data, {.samples = 0});
  EXPECT_EQ(s.score_name, "accuracy");
  EXPECT_EQ(s.float_score, 1.0);
  EXPECT_TRUE(s.layers[0].alone.score.has_value());
  const Sensitivity scored = sensitivity(
      calibrated(net), data, {.score = [](const Model&, const Dataset& d) {
        return static_cast<double>(d.size());
      }});
  EXPECT_EQ(scored.all.score, 40.0);
}

TEST(Sensitivity, LeavesTheModelUnchanged) {
  Model model = calibrated(chain());
  quantizers(model)[0]->set_enabled(false);
  const Tensor x = noise({5, 6}, 9);
  const auto before = values(model.predict(x));
  (void)sensitivity(model, some(20));
  EXPECT_EQ(values(model.predict(x)), before);
  EXPECT_FALSE(quantizers(model)[0]->enabled());
}

TEST(Sensitivity, RefusesInvalidModelsAndOptions) {
  const Model net = chain();
  EXPECT_EQ(failure_of<ValueError>([&] { (void)sensitivity(net, some(4)); }),
            (Failure{"not_quantized", "sensitivity"}));
  EXPECT_EQ(failure_of<ValueError>(
                [&] { (void)sensitivity(quantize_model(net), some(4)); }),
            (Failure{"not_calibrated", "sensitivity"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)sensitivity(calibrated(net), some(4), {.batch_size = 0});
            }),
            (Failure{"out_of_range", "sensitivity"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)sensitivity(
                  calibrated(net), some(4),
                  {.score = [](const Model&, const Dataset&) { return NAN; }});
            }),
            (Failure{"not_finite", "sensitivity"}));
}

// Softmax regression: dL/dW = x (p - 1[class]).
TEST(Sensitivity, ReportsTheIncreaseOfTheLossFromGradients) {
  const SymbolicTensor x = input({4}, "x");
  const Model model = calibrated_on(
      Model(x, Dense({.units = 3, .name = "dense"})(x)), samples(20, {4}),
      {.weight = {.bits = 3,
                  .narrow_range = true,
                  .per_channel = true,
                  .rule = ScaleRule::live}});
  const Dataset data = samples(20, {4});
  const Sensitivity s = sensitivity(model, data);
  const Layer& layer = model.layer("quant_dense");
  const Tensor w = layer.parameter("kernel").variable.value();
  const QuantParams qparams = quantizer(model, "dense/kernel")->qparams(w, -1);
  double expected = 0;
  for (int64_t n = 0; n < 20; ++n) {
    const Batch batch = data.batch(n, 1);
    const auto in = std::as_const(batch.inputs[0]).f32();
    double scores[3], sum = 0;
    for (size_t k = 0; k < 3; ++k) {
      scores[k] = 0;
      for (size_t i = 0; i < 4; ++i) {
        scores[k] += double{in[i]} * w.f32()[3 * i + k];
      }
      sum += scores[k] = std::exp(scores[k]);
    }
    for (size_t k = 0; k < 3; ++k) {
      const double p = scores[k] / sum - (n % 3 == static_cast<int64_t>(k));
      for (size_t i = 0; i < 4; ++i) {
        const float v = w.f32()[3 * i + k];
        const double error =
            double{rounded_to(v, qparams.scale.f32()[k], -3, 3)} - v;
        expected += std::pow(p * in[i] * error, 2) / (2 * 20);
      }
    }
  }
  ASSERT_TRUE(layer_of(s, "dense").loss_rise);
  EXPECT_NEAR(*layer_of(s, "dense").loss_rise, expected, 1e-5 * expected);
  EXPECT_THAT(s.to_string(), HasSubstr("cross-entropy"));
}

// Logits and their softmax have the same cross-entropy.
TEST(Sensitivity, ReportsTheSameIncreaseAfterASoftmax) {
  const SymbolicTensor x = input({4}, "x");
  double rises[2];
  for (const bool softmax : {false, true}) {
    const Model model =
        calibrated_on(Model(x,
                            Dense({.units = 3,
                                   .activation = softmax ? "softmax" : "linear",
                                   .name = "dense"})(x),
                            {.seed = 5}),
                      samples(20, {4}), {});
    const Sensitivity s = sensitivity(model, samples(20, {4}));
    ASSERT_TRUE(layer_of(s, "dense").loss_rise);
    rises[softmax ? 1 : 0] = *layer_of(s, "dense").loss_rise;
  }
  EXPECT_NEAR(rises[1], rises[0], 1e-5 * rises[0]);
}

TEST(Sensitivity, OmitsUndefinedIncreases) {
  const SymbolicTensor x = input({4}, "x");
  const Model sigmoid = calibrated_on(
      Model(x, Dense({.units = 3, .activation = "sigmoid", .name = "d"})(x)),
      samples(20, {4}), {});
  EXPECT_FALSE(layer_of(sensitivity(sigmoid, samples(20, {4})), "d").loss_rise);
  Model frozen = calibrated_on(Model(x, Dense({.units = 3, .name = "d"})(x)),
                               samples(20, {4}), {});
  frozen.set_trainable(false);
  EXPECT_FALSE(layer_of(sensitivity(frozen, samples(20, {4})), "d").loss_rise);
}

TEST(Sensitivity, ReturnsASpecOfLayersToKeepInFloat) {
  Model model = calibrated(chain());
  const auto bad = quantizer_of(model, "re_lu");
  bad->set_scale(*bad->scale() / 8);
  const Sensitivity s = sensitivity(model, some(64));
  EXPECT_TRUE(s.exclude(0).empty());
  const QuantizationSpec spec = s.exclude(1);
  ASSERT_EQ(spec.entries().size(), 1u);
  EXPECT_EQ(spec.entries()[0].name, "second");
  const Model without = quantize_model(chain(), {.spec = spec});
  EXPECT_EQ(as_wrapper(without.layer("second")), nullptr);
  EXPECT_EQ(s.exclude(9).entries().size(), 3u);
  EXPECT_THROW((void)s.exclude(-1), ValueError);
}

/// The model with weights stored rounded, as in an ONNX file.
Model with_stored_weights(const Model& model) {
  Model result = model.clone();
  for (const auto& layer : std::as_const(result).layers()) {
    const BaseQuantizeWrapper* wrapper = as_wrapper(*layer);
    if (wrapper == nullptr) continue;
    for (const PlacedQuantizer& placed : wrapper->weights()) {
      const Parameter& p = wrapper->inner().parameter(placed.site.parameter);
      const Tensor value = p.variable.value().clone();
      const Tensor rounded =
          fake_quantize(Variable(value),
                        placed.quantizer->qparams(value, p.channel_axis))
              .value();
      std::ranges::copy(rounded.f32(), p.variable.mutable_value().begin());
    }
  }
  return result;
}

QuantizeOptions with_fixed_weights() {
  QuantizeOptions options;
  options.weight.rule = ScaleRule::fixed;
  return options;
}

TEST(Sensitivity, ComparesStoredWeightsWithTheReference) {
  const Model net = chain();
  const Model model = calibrated(net, with_fixed_weights());
  const Model stored = with_stored_weights(model);
  const Sensitivity expected = sensitivity(model, some(64));
  const Sensitivity without = sensitivity(stored, some(64));
  EXPECT_GT(*layer_of(without, "first").weights,
            *layer_of(expected, "first").weights + 20);
  const Sensitivity s = sensitivity(stored, some(64), {.reference = &net});
  EXPECT_NEAR(s.all.sqnr, expected.all.sqnr, 1e-4);
  for (size_t i = 0; i < s.layers.size(); ++i) {
    EXPECT_NEAR(*s.layers[i].weights, *expected.layers[i].weights, 1e-4);
    EXPECT_NEAR(*s.layers[i].activations, *expected.layers[i].activations,
                1e-4);
    EXPECT_NEAR(s.layers[i].without.sqnr, expected.layers[i].without.sqnr,
                1e-4);
  }
  EXPECT_EQ(s.blame(), expected.blame());
}

TEST(Sensitivity, RefusesAReferenceWithOtherWeights) {
  const Model stored =
      with_stored_weights(calibrated(chain(), with_fixed_weights()));
  const auto refusal = [&](const Model& reference) {
    return failure_of<Error>(
        [&] { (void)sensitivity(stored, some(8), {.reference = &reference}); });
  };
  const Model other = chain();
  for (const Parameter& p : other.parameters()) {
    if (p.variable.shape().rank() < 2) continue;
    for (float& value : p.variable.mutable_value()) value *= 1.5f;
  }
  EXPECT_EQ(refusal(other), (Failure{"invalid_value", "layer 'first'"}));
  const SymbolicTensor x = input({6}, "x");
  SymbolicTensor y = Dense({.units = 5, .name = "first"})(x);
  const Model narrow(x, Dense({.units = 3, .name = "third"})(y));
  EXPECT_EQ(refusal(narrow), (Failure{"shape_mismatch", "layer 'first'"}));
  const Model other_names(x, Dense({.units = 3, .name = "third"})(x));
  EXPECT_THROW((void)sensitivity(stored, some(8), {.reference = &other_names}),
               NotFoundError);
}

}  // namespace
}  // namespace octet::quant
