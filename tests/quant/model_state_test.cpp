// Models as plain values, and counterparts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/zoo.h>
#include <octet/quant/detail/counterpart.h>

#include "support.h"

namespace octet::quant {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::StartsWith;

std::vector<std::string> names_of(const std::vector<NamedWeight>& weights) {
  std::vector<std::string> names;
  for (const NamedWeight& weight : weights) {
    names.push_back(weight.layer + "/" + weight.name);
  }
  return names;
}

/// Returns the state with cloned tensors.
ModelState copy_of(const Model& model) {
  ModelState state = state_of(model);
  for (NamedWeight& weight : state.weights) weight.value = weight.value.clone();
  return state;
}

TEST(ModelState, UsesFloatNames) {
  const Model model = calibrated_quickstart();
  EXPECT_THAT(
      names_of(weights_of(model)),
      ElementsAre("conv2d/kernel", "batch_normalization/gamma",
                  "batch_normalization/beta", "batch_normalization/moving_mean",
                  "batch_normalization/moving_variance", "dense/kernel",
                  "dense/bias"));
  EXPECT_EQ(names_of(weights_of(model)), names_of(weights_of(quickstart())));
  EXPECT_EQ(state_of(model).graph, to_config(quickstart()));
  EXPECT_TRUE(state_of(quickstart()).plan.is_null());
  EXPECT_EQ(plan_from_config(state_of(model).plan), plan_of(model));
  EXPECT_FALSE(weights_of(model)[3].trainable);
}

TEST(ModelState, RestoresAnEqualModel) {
  Model model = calibrated_quickstart();
  const ModelState state = state_of(model);
  Model made = initial_model(state);
  restore(made, state);
  EXPECT_EQ(weight_bits(made), weight_bits(model));
  EXPECT_EQ(scales(made), scales(model));
  const Tensor x = noise({5, 8, 6, 1});
  EXPECT_EQ(bits(made.predict(x)), bits(model.predict(x)));
}

TEST(ModelState, RestoredModelsShareNothing) {
  Model model = calibrated_quickstart();
  const auto before = weight_bits(model);
  Model made = model_from_state(state_of(model));  // from the model's tensors
  EXPECT_EQ(weight_bits(made), before);
  EXPECT_EQ(scales(made), scales(model));
  shake(made, 3);
  EXPECT_EQ(weight_bits(model), before);
  shake(model, 4);
  EXPECT_EQ(weight_bits(model_from_state(copy_of(model))), weight_bits(model));
}

TEST(ModelState, RestoresFrozenFlags) {
  const SymbolicTensor x = input({4}, "x");
  SymbolicTensor y = Dense({.units = 4, .name = "a"})(x);
  // Without trainable parameters, only the flag is frozen.
  y = BatchNormalization({.center = false, .scale = false, .name = "plain"})(y);
  y = BatchNormalization({.name = "norm"})(y);
  Model model(x, Dense({.units = 2, .name = "b"})(y));
  model.layer("a").parameter("bias").variable.set_requires_grad(false);
  model.layer("plain").set_trainable(false);
  model.layer("norm").freeze_statistics(true);
  model.layer("b").set_trainable(false);
  model.set_training_passes(77);
  const ModelState state = copy_of(model);

  const auto expect_state = [&] {
    EXPECT_TRUE(model.layer("a").parameter("kernel").variable.requires_grad());
    EXPECT_FALSE(model.layer("a").parameter("bias").variable.requires_grad());
    EXPECT_FALSE(model.layer("plain").trainable());
    EXPECT_FALSE(model.layer("plain").statistics_frozen());
    EXPECT_TRUE(model.layer("norm").statistics_frozen());
    EXPECT_TRUE(model.layer("norm").trainable());
    EXPECT_FALSE(model.layer("b").trainable());
    EXPECT_EQ(model.training_passes(), 77u);
    EXPECT_EQ(state_of(model).status, state.status);
  };
  model.set_trainable(true);
  for (const auto& layer : model.layers()) layer->freeze_statistics(false);
  model.set_training_passes(0);
  restore(model, state);
  expect_state();
  model.set_trainable(false);
  for (const auto& layer : model.layers()) layer->freeze_statistics(true);
  restore(model, state);
  expect_state();
}

TEST(ModelState, RestoresAllOrNothing) {
  Model model = calibrated_quickstart();
  const ModelState state = copy_of(model);
  shake(model, 5);
  for (const auto& each : quantizers(model)) each->set_enabled(false);
  const auto before = weight_bits(model);
  const auto refusal = [&](const std::function<void(ModelState&)>& change) {
    ModelState other = state;
    change(other);
    const Failure failure = failure_of<Error>([&] { restore(model, other); });
    EXPECT_EQ(weight_bits(model), before);
    EXPECT_FALSE(quantizers(model)[0]->enabled());
    return failure;
  };
  EXPECT_EQ(refusal([](ModelState& s) { s.weights.pop_back(); }),
            (Failure{"count_mismatch", "model 'quickstart'"}));
  EXPECT_EQ(refusal([](ModelState& s) {
              s.weights.push_back({"head", "kernel", true, Tensor::zeros({1})});
            }),
            (Failure{"count_mismatch", "model 'quickstart'"}));
  for (const Tensor& other :
       {Tensor::zeros({4}), Tensor::zeros({3}, DType::i64), Tensor()}) {
    EXPECT_EQ(refusal([&](ModelState& s) { s.weights.back().value = other; }),
              (Failure{"shape_mismatch", "weight 'dense/bias'"}));
  }
  const auto quantizer_refusal = [&](const std::string& name, Config value) {
    return refusal([&](ModelState& s) {
      Config all = s.status.at("quantizers");
      Config last = all.as_object().back().second;
      last.set(name, std::move(value));
      all.set(all.as_object().back().first, std::move(last));
      s.status.set("quantizers", std::move(all));
    });
  };
  EXPECT_THAT(quantizer_refusal("enabled", 1).context,
              Contains(StartsWith("in quantizer '")));
  EXPECT_EQ(quantizer_refusal("scale", 0.5).code, "unsupported_value");
  ModelState none = state;
  none.status.set("quantizers", Config::Object());
  EXPECT_THROW(restore(model, none), NotFoundError);
}

TEST(ModelState, RefusesQuantizersOfEqualNames) {
  const Model model = doubling();
  const Model wrapped = model.clone([](const Layer& layer,
                                       CloneContext& context) {
    auto inner = layer.clone(context);
    if (layer.class_name() != "Dense") return inner;
    const auto wrapper = make_wrapper(std::move(inner));
    wrapper->attach({QdqSite::input(0), std::make_shared<Quantizer>(
                                            "same", activation_quantizer())});
    wrapper->set_name(quantized_name(layer.name()));
    return std::shared_ptr<Layer>(wrapper);
  });
  EXPECT_EQ(failure_of<ValueError>([&] { (void)state_of(wrapped); }).code,
            "duplicate_name");
}

TEST(ModelState, RefusesLayersOfEqualFloatNames) {
  const SymbolicTensor x = input({2}, "x");
  const Dense dense({.units = 2, .name = "a"});
  const auto wrapper = make_wrapper(Dense({.units = 2, .name = "a"}).layer());
  wrapper->set_name("quant_a");
  const Model model(x, call(wrapper, {dense(x)}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)state_of(model); }).code,
            "duplicate_name");
}

TEST(QuantizerState, KeepsObservations) {
  const Tensor first = noise({100}, 1);
  const Tensor second = noise({100}, 2);
  for (const Calibration method :
       {Calibration::max, Calibration::ema, Calibration::percentile}) {
    const CalibrationOptions options{
        .method = method, .percentile = 90, .ema_rate = 0.25f};
    Quantizer whole("q", activation_quantizer());
    whole.start_observing(options);
    whole.observe(Variable(first));
    const Config state = whole.state();
    whole.observe(Variable(second));

    Quantizer resumed("q", activation_quantizer());
    resumed.restore(state);
    EXPECT_TRUE(resumed.observing());
    EXPECT_TRUE(resumed.observed());
    EXPECT_EQ(resumed.state(), state);
    resumed.observe(Variable(second));
    EXPECT_EQ(resumed.state(), whole.state());
    EXPECT_EQ(resumed.finish_observing(), whole.finish_observing());
    EXPECT_EQ(resumed.scale(), whole.scale());
  }
}

TEST(QuantizerState, KeepsAnObserverWithoutData) {
  for (const Calibration method :
       {Calibration::max, Calibration::ema, Calibration::percentile}) {
    Quantizer quantizer("q", activation_quantizer());
    quantizer.start_observing({.method = method});
    Quantizer resumed("q", activation_quantizer());
    resumed.restore(quantizer.state());
    EXPECT_TRUE(resumed.observing());
    EXPECT_FALSE(resumed.observed());
    EXPECT_FALSE(resumed.finish_observing());
  }
}

TEST(QuantizerState, EndsAnObservationMissingInTheState) {
  Quantizer quantizer("q", activation_quantizer());
  const Config state = quantizer.state();
  quantizer.start_observing({});
  quantizer.set_scale(2);
  quantizer.restore(state);
  EXPECT_FALSE(quantizer.observing());
  EXPECT_FALSE(quantizer.scale());
}

TEST(QuantizerState, RefusesInvalidObserverStates) {
  Quantizer quantizer("q", activation_quantizer());
  quantizer.start_observing({.method = Calibration::percentile});
  quantizer.observe(Variable(noise({10})));
  const Config good = quantizer.state();
  const auto refusal = [&](const std::string& name, Config value) {
    Config state = good;
    Config observer = state.at("observer");
    Config seen = observer.at("state");
    if (name == "method") {
      observer.set(name, std::move(value));
    } else {
      seen.set(name, std::move(value));
    }
    state.set("observer", observer.set("state", std::move(seen)));
    const Failure failure =
        failure_of<Error>([&] { quantizer.restore(state); });
    EXPECT_EQ(quantizer.state(), good);
    return failure;
  };
  EXPECT_EQ(refusal("method", "median"),
            (Failure{"invalid_value", "calibration method"}));
  const Failure invalid{"invalid_value", "observer state"};
  EXPECT_EQ(refusal("top", -1.0), invalid);
  EXPECT_EQ(refusal("bins", Config::List{1}),
            (Failure{"count_mismatch", "observer state"}));
  EXPECT_EQ(refusal("bins", Config::List{65536, 1}), invalid);
  EXPECT_EQ(refusal("bins", Config::List{7, 1, 7, 1}), invalid);
  EXPECT_EQ(refusal("bins", Config::List{-1, 1}), invalid);
  EXPECT_EQ(refusal("bins", Config::List{7, 0}), invalid);
  EXPECT_EQ(refusal("bins", Config::List{7, INT64_MAX, 8, INT64_MAX}), invalid);
}

TEST(Counterpart, HasPrefixedNames) {
  EXPECT_EQ(quantized_name("conv1"), "quant_conv1");
  EXPECT_EQ(float_name("quant_conv1"), "conv1");
  EXPECT_EQ(float_name("conv1"), "conv1");
  EXPECT_EQ(float_name("quant_"), "quant_");
  EXPECT_EQ(float_name("encoder/quant_conv1"), "encoder/quant_conv1");
  EXPECT_EQ(float_name(""), "");
}

TEST(Counterpart, IsFoundByItsExactNameFirst) {
  const std::vector<std::string> names = {"quant_conv", "conv", "quant_dense",
                                          "add"};
  const CounterpartNames counterparts(names);
  EXPECT_EQ(counterparts.find("conv"), 1u);
  EXPECT_EQ(counterparts.find("quant_conv"), 0u);
  EXPECT_EQ(counterparts.find("dense"), 2u);
  EXPECT_EQ(counterparts.find("quant_add"), 3u);
  EXPECT_EQ(counterparts.find("relu"), std::nullopt);
  // A layer named "quant_...", quantized.
  const std::vector<std::string> clash = {"x", "quant_quant_x"};
  EXPECT_EQ(CounterpartNames(clash).find("quant_x"), 1u);
}

TEST(CopyWeights, CopiesBetweenCounterparts) {
  Model model = quickstart();
  Model quantized = calibrated_quickstart();
  const auto scale = scales(quantized);
  shake(model, 3);
  copy_weights(model, quantized);
  EXPECT_EQ(weight_bits(quantized), weight_bits(model));
  EXPECT_EQ(scales(quantized), scale);
  shake(quantized, 4);
  EXPECT_NE(weight_bits(quantized), weight_bits(model));
  copy_weights(quantized, model);
  EXPECT_EQ(weight_bits(quantized), weight_bits(model));
}

TEST(CopyWeights, RefusesOtherModelsAndChangesNothing) {
  const Model model = quickstart();
  Model other = doubling();
  const auto before = weight_bits(other);
  EXPECT_EQ(failure_of<ValueError>([&] { copy_weights(model, other); }).code,
            "count_mismatch");
  EXPECT_EQ(weight_bits(other), before);
}

}  // namespace
}  // namespace octet::quant
