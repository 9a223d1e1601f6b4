// Ten updates of every optimizer, compared with Keras 3.15 (JAX, f32) for the
// same weights, gradients and falling learning rates.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <octet/train/optimizer.h>

#include "gradients.h"

namespace octet::train {
namespace {

struct Recorded {
  std::string name;
  Optimizer optimizer;
  std::vector<float> weights;  // final weights in Keras
};

std::vector<Recorded> recorded() {
  const float rate = 0.1f;
  return {
      {"SGD",
       SGD({.learning_rate = rate}),
       {1.027500033378601f, -1.0549999475479126f, 5.0f, -0.027499999850988388f,
        0.5824999809265137f, -1.945000171661377f}},
      {"SGD with momentum",
       SGD({.learning_rate = rate, .momentum = 0.9f}),
       {1.2860363721847534f, -1.3860539197921753f, 5.0f, -0.22149181365966797f,
        1.0962618589401245f, -1.5639728307724f}},
      {"SGD with Nesterov's momentum",
       SGD({.learning_rate = rate, .momentum = 0.9f, .nesterov = true}),
       {1.2849327325820923f, -1.4024484157562256f, 5.0f, -0.22684261202812195f,
        1.1191356182098389f, -1.5525755882263184f}},
      {"SGD with momentum and decay",
       SGD({.learning_rate = rate, .momentum = 0.9f, .weight_decay = 0.05f}),
       {1.2534619569778442f, -1.3563673496246338f, 4.864138603210449f,
        -0.2170613408088684f, 1.0769175291061401f, -1.5151890516281128f}},
      {"Adam",
       Adam({.learning_rate = rate}),
       {1.1474542617797852f, -1.0161018371582031f, 5.0f, -0.15408852696418762f,
        0.6934616565704346f, -1.7653493881225586f}},
      {"AdamW",
       AdamW({.learning_rate = rate}),
       {1.1450005769729614f, -1.0139654874801636f, 4.989010334014893f,
        -0.15382064878940582f, 0.6921063661575317f, -1.7613060474395752f}},
      {"AdamW with other options",
       AdamW({.learning_rate = rate,
              .beta1 = 0.8f,
              .beta2 = 0.9f,
              .epsilon = 1e-3f,
              .weight_decay = 0.05f}),
       {1.0947271585464478f, -0.9893572330474854f, 4.864138603210449f,
        -0.13020870089530945f, 0.661093533039093f, -1.7362706661224365f}},
      {"RMSprop",
       RMSprop({.learning_rate = rate}),
       {1.1390742063522339f, -0.936400830745697f, 5.0f, -0.1495041400194168f,
        0.7676686644554138f, -1.554057240486145f}},
      {"RMSprop with momentum",
       RMSprop({.learning_rate = rate,
                .rho = 0.8f,
                .momentum = 0.7f,
                .epsilon = 1e-3f}),
       {1.3186368942260742f, -0.8844493627548218f, 5.0f, -0.3144211173057556f,
        1.137465476989746f, -1.0115991830825806f}},
      {"RMSprop, centered",
       RMSprop({.learning_rate = rate, .centered = true}),
       {1.157435417175293f, -0.9281085729598999f, 5.0f, -0.16548363864421844f,
        0.7937309145927429f, -1.5143235921859741f}},
      {"RMSprop, centered, with momentum and decay",
       RMSprop({.learning_rate = rate,
                .momentum = 0.5f,
                .epsilon = 1e-2f,
                .centered = true,
                .weight_decay = 0.05f}),
       {1.264866828918457f, -0.9476763010025024f, 4.864138603210449f,
        -0.28368616104125977f, 1.044443964958191f, -1.2765672206878662f}},
      {"Lion",
       Lion({.learning_rate = rate}),
       {0.9499999284744263f, -1.0699999332427979f, 5.0f, -0.10999999940395355f,
        0.5900000333786011f, -1.929999828338623f}},
      {"Lion with other options",
       Lion({.learning_rate = rate,
             .beta1 = 0.8f,
             .beta2 = 0.9f,
             .weight_decay = 0.05f}),
       {1.098963975906372f, -1.0824332237243652f, 4.864138603210449f,
        -0.10715886950492859f, 0.6934043765068054f, -1.7207036018371582f}},
      {"LAMB",
       LAMB({.learning_rate = rate}),
       {1.3163554668426514f, -1.6495232582092285f, 5.0f, -0.38333365321159363f,
        1.5479580163955688f, -1.010838508605957f}},
      {"LAMB with other options",
       LAMB({.learning_rate = rate,
             .beta1 = 0.8f,
             .beta2 = 0.9f,
             .epsilon = 1e-3f,
             .weight_decay = 0.05f}),
       {1.1732549667358398f, -1.4853359460830688f, 4.864138603210449f,
        -0.26667317748069763f, 1.2872023582458496f, -1.1916261911392212f}},
  };
}

TEST(Optimizers, AgreeWithKerasOverTenSteps) {
  for (Recorded& each : recorded()) {
    const Variable w(Tensor::of<float>({2, 3}, {1, -1, 5, 0, 0.5f, -2}), true);
    each.optimizer.attach({w});
    for (int t = 0; t < 10; ++t) {
      std::vector<float> gradient;
      for (int i = 0; i < 6; ++i) {
        gradient.push_back(
            i == 2 ? 0.0f : static_cast<float>((7 * t + 3 * i) % 11 - 5) / 4);
      }
      give_gradient(w, gradient);
      each.optimizer.step(static_cast<float>(10 - t) / 10);
    }
    const std::vector<float> got = values(w);
    for (size_t i = 0; i < got.size(); ++i) {
      // Ten updates with a few roundings each, of weights up to 5.
      EXPECT_NEAR(got[i], each.weights[i], 3e-6)
          << each.name << ", element " << i;
    }
  }
}

TEST(Optimizers, HaveTheDefaultsOfKeras) {
  EXPECT_EQ(SGD().learning_rate(), 0.01f);
  EXPECT_EQ(Adam().learning_rate(), 0.001f);
  EXPECT_EQ(AdamW().learning_rate(), 0.001f);
  EXPECT_EQ(RMSprop().learning_rate(), 0.001f);
  EXPECT_EQ(Lion().learning_rate(), 0.001f);
  EXPECT_EQ(LAMB().learning_rate(), 0.001f);
  EXPECT_EQ(LionOptions().beta2, 0.99f);
  EXPECT_EQ(LAMBOptions().epsilon, 1e-7f);
  EXPECT_EQ(AdamWOptions().weight_decay, 0.004f);
  EXPECT_EQ(RMSpropOptions().rho, 0.9f);
  EXPECT_EQ(RMSpropOptions().epsilon, 1e-7f);
}

}  // namespace
}  // namespace octet::train
