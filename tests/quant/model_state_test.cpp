// Models as plain values, and counterparts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/zoo.h>

#include "support.h"

namespace octet::quant {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> names_of(const std::vector<Weight>& weights) {
  std::vector<std::string> names;
  for (const Weight& weight : weights) {
    names.push_back(weight.layer + "/" + weight.name);
  }
  return names;
}

/// The state with tensors of its own.
ModelState copy_of(const Model& model) {
  ModelState state = state_of(model);
  for (Weight& weight : state.weights) weight.value = weight.value.clone();
  return state;
}

TEST(ModelState, NamesLayersAsTheFloatModelDoes) {
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

TEST(ModelState, MakesAnEqualModel) {
  Model model = calibrated_quickstart();
  const ModelState state = state_of(model);
  Model made = rebuild(state);
  restore(made, state);
  EXPECT_EQ(weight_bits(made), weight_bits(model));
  EXPECT_EQ(scales(made), scales(model));
  const Tensor x = noise({5, 8, 6, 1});
  EXPECT_EQ(bits(made.predict(x)), bits(model.predict(x)));
}

TEST(ModelState, RestoredModelsShareNothing) {
  Model model = calibrated_quickstart();
  const auto before = weight_bits(model);
  Model made = restored(state_of(model));  // whose tensors are the model's
  EXPECT_EQ(weight_bits(made), before);
  EXPECT_EQ(scales(made), scales(model));
  shake(made, 3);
  EXPECT_EQ(weight_bits(model), before);
  shake(model, 4);
  EXPECT_EQ(weight_bits(restored(copy_of(model))), weight_bits(model));
}

TEST(ModelState, PutsBackWhatIsFrozen) {
  const SymbolicTensor x = input({4}, "x");
  SymbolicTensor y = Dense({.units = 4, .name = "a"})(x);
  // Nothing that trains: only the flag says that it is frozen.
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

TEST(ModelState, PutsBackAllOrNothing) {
  Model model = calibrated_quickstart();
  const ModelState state = copy_of(model);
  shake(model, 5);
  for (const auto& each : quantizers(model)) each->set_enabled(false);
  const auto before = weight_bits(model);
  const auto refusal = [&](const std::function<void(ModelState&)>& change) {
    ModelState other = state;
    change(other);
    std::string text = error_of<Error>([&] { restore(model, other); });
    EXPECT_EQ(weight_bits(model), before);
    EXPECT_FALSE(quantizers(model)[0]->enabled());
    return text;
  };
  EXPECT_THAT(refusal([](ModelState& s) { s.weights.pop_back(); }),
              HasSubstr("weights: expected those of model 'quickstart', got "
                        "none for 'dense/bias'"));
  EXPECT_THAT(
      refusal([](ModelState& s) {
        s.weights.push_back({"head", "kernel", true, Tensor::zeros({1})});
      }),
      HasSubstr("got others for 'head/kernel'"));
  EXPECT_THAT(refusal([](ModelState& s) {
                s.weights.back().value = Tensor::zeros({4});
              }),
              HasSubstr("weight 'dense/bias': expected f32 [3], got f32 [4]"));
  EXPECT_THAT(refusal([](ModelState& s) {
                s.weights.back().value = Tensor::zeros({3}, DType::i64);
              }),
              HasSubstr("expected f32 [3], got i64 [3]"));
  EXPECT_THAT(refusal([](ModelState& s) { s.weights.back().value = {}; }),
              HasSubstr("got f32 nothing"));
  const auto quantizer_refusal = [&](const std::string& name, Config value) {
    return refusal([&](ModelState& s) {
      Config all = s.status.at("quantizers");
      Config last = all.as_object().back().second;
      last.set(name, std::move(value));
      all.set(all.as_object().back().first, std::move(last));
      s.status.set("quantizers", std::move(all));
    });
  };
  EXPECT_THAT(
      quantizer_refusal("enabled", 1),
      AllOf(HasSubstr("expected a boolean"), HasSubstr("in quantizer '")));
  EXPECT_THAT(quantizer_refusal("scale", 0.5),
              HasSubstr("expected a rule that keeps scales"));
  EXPECT_THAT(refusal([](ModelState& s) {
                s.status.set("quantizers", Config::Object());
              }),
              HasSubstr("expected an entry '"));
}

TEST(ModelState, RefusesQuantizersOfOneName) {
  const Model model = doubling();
  const Model wrapped =
      model.clone([](const Layer& layer, CloneContext& context) {
        auto inner = layer.clone(context);
        if (layer.class_name() != "Dense") return inner;
        const auto wrapper = make_wrapper(std::move(inner));
        wrapper->attach(
            {QdqSite::input(0)},
            std::make_shared<Quantizer>("same", activation_quantizer()));
        wrapper->set_name(quantized_name(layer.name()));
        return std::shared_ptr<Layer>(wrapper);
      });
  EXPECT_THAT(error_of<ValueError>([&] { (void)state_of(wrapped); }),
              HasSubstr("expected quantizers of different names, got 'same' "
                        "twice"));
}

TEST(ModelState, RefusesLayersOfOneNameInTheFloatModel) {
  const SymbolicTensor x = input({2}, "x");
  const Dense dense({.units = 2, .name = "a"});
  const auto wrapper = make_wrapper(Dense({.units = 2, .name = "a"}).layer());
  wrapper->set_name("quant_a");
  const Model model(x, call(wrapper, {dense(x)}));
  EXPECT_THAT(
      error_of<ValueError>([&] { (void)state_of(model); }),
      HasSubstr("expected layers of different names in its float counterpart, "
                "got 'a' twice"));
}

TEST(QuantizerState, KeepsWhatObserversHaveSeen) {
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

TEST(QuantizerState, KeepsAnObserverThatHasSeenNothing) {
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

TEST(QuantizerState, EndsAnObservationThatTheStateDoesNotHave) {
  Quantizer quantizer("q", activation_quantizer());
  const Config state = quantizer.state();
  quantizer.start_observing({});
  quantizer.set_scale(2);
  quantizer.restore(state);
  EXPECT_FALSE(quantizer.observing());
  EXPECT_FALSE(quantizer.scale());
}

TEST(QuantizerState, RefusesWhatNoObserverHas) {
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
    std::string text = error_of<Error>([&] { quantizer.restore(state); });
    EXPECT_EQ(quantizer.state(), good);
    return text;
  };
  EXPECT_THAT(refusal("method", "median"),
              HasSubstr("expected a method, got 'median'"));
  EXPECT_THAT(refusal("top", -1.0), HasSubstr("expected a finite magnitude"));
  EXPECT_THAT(refusal("bins", Config::List{1}),
              HasSubstr("expected bins with a count each, got 1 numbers"));
  EXPECT_THAT(refusal("bins", Config::List{65536, 1}),
              HasSubstr("bins in [0,65536), each once, got 1 of bin 65536"));
  EXPECT_THAT(refusal("bins", Config::List{7, 1, 7, 1}),
              HasSubstr("each once, got 1 of bin 7"));
  EXPECT_THAT(refusal("bins", Config::List{-1, 1}), HasSubstr("of bin -1"));
  EXPECT_THAT(refusal("bins", Config::List{7, 0}), HasSubstr("got 0 of bin 7"));
  EXPECT_THAT(refusal("bins", Config::List{7, INT64_MAX, 8, INT64_MAX}),
              HasSubstr("of bin 8"));
}

TEST(Counterpart, HasTheSameNamesButForAPrefix) {
  EXPECT_EQ(quantized_name("conv1"), "quant_conv1");
  EXPECT_EQ(float_name("quant_conv1"), "conv1");
  EXPECT_EQ(float_name("conv1"), "conv1");
  EXPECT_EQ(float_name("quant_"), "quant_");
  EXPECT_EQ(float_name("encoder/quant_conv1"), "encoder/quant_conv1");
  EXPECT_EQ(float_name(""), "");
}

TEST(Counterpart, IsFoundByItsOwnNameFirst) {
  const std::vector<std::string> names = {"quant_conv", "conv", "quant_dense",
                                          "add"};
  const CounterpartNames counterparts(names);
  EXPECT_EQ(counterparts.find("conv"), 1u);
  EXPECT_EQ(counterparts.find("quant_conv"), 0u);
  EXPECT_EQ(counterparts.find("dense"), 2u);
  EXPECT_EQ(counterparts.find("quant_add"), 3u);
  EXPECT_EQ(counterparts.find("relu"), std::nullopt);
  // Of a layer that is called so, and quantized.
  const std::vector<std::string> clash = {"x", "quant_quant_x"};
  EXPECT_EQ(CounterpartNames(clash).find("quant_x"), 1u);
}

TEST(CopyWeights, GoesFromAFloatModelToItsCounterpartAndBack) {
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

TEST(CopyWeights, ChangesNothingBetweenOtherModels) {
  const Model model = quickstart();
  Model other = doubling();
  const auto before = weight_bits(other);
  EXPECT_THAT(error_of<ValueError>([&] { copy_weights(model, other); }),
              AllOf(HasSubstr("got none for 'first/kernel', 'first/bias', "
                              "'second/kernel', 'second/bias'"),
                    HasSubstr("got others for 'batch_normalization/beta'")));
  EXPECT_EQ(weight_bits(other), before);
}

}  // namespace
}  // namespace octet::quant
