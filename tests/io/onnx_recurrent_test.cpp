// LSTM, GRU and RNN: exported files in the reference, which is a second
// implementation, and imported again; nodes that import rejects. ONNX Runtime
// judges in tests/oracle/import_graphs.py and tests/golden/layers.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/layers/layers.h>
#include <octet/quant/calibrate.h>
#include <octet/quant/quantize_model.h>
#include <octet/runtime/error.h>

#include "../layers/support.h"
#include "import_refusal.h"
#include "onnx_models.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

Model recurrent_network() {
  const SymbolicTensor x = input({6, 4}, "x");
  SymbolicTensor y = bidirectional(
      x, LSTM({.units = 5, .return_sequences = true}), {.name = "both"});
  y = GRU({.units = 3,
           .return_sequences = true,
           .go_backwards = true,
           .name = "back"})(y);
  y = GRU({.units = 4,
           .recurrent_activation = "hard_sigmoid_v2",
           .return_sequences = true,
           .reset_after = false,
           .name = "gate"})(y);
  y = SimpleRNN({.units = 3,
                 .activation = "linear",
                 .go_backwards = true,
                 .name = "plain"})(y);
  Model model(x, Dense({.units = 2, .name = "scores"})(y));
  shake(model);
  return model;
}

TEST(OnnxRecurrent, ExportsWhatTheModelComputes) {
  const Model model = recurrent_network();
  const OnnxFile file = to_onnx(model);
  const Tensor x = noise({3, 6, 4});
  const NoGradGuard no_grad;
  const Tensor expected = model(Variable(x)).value();
  const OnnxReference reference = onnx_reference_from_bytes(file.bytes);
  expect_equal(reference.predict(x), expected);
}

TEST(OnnxRecurrent, ImportsItsOwnFiles) {
  const Model model = recurrent_network();
  const Model again = from_onnx(to_onnx(model).bytes);
  const Tensor x = noise({3, 6, 4});
  const NoGradGuard no_grad;
  expect_equal(again(Variable(x)).value(), model(Variable(x)).value());
  EXPECT_THAT(names(again), Contains("both/forward"));
  EXPECT_THAT(names(again), Contains("back"));
}

// A node with one unit; sequences x [N,t,1] give y [N,t,1,1].
onnx::ModelProto unit_model(const std::string& op,
                            const std::string& attributes,
                            const std::vector<float>& w,
                            const std::vector<float>& r,
                            const std::string& more = "") {
  onnx::ModelProto model =
      graph_model("(float[N,t,1] x) => (float[N,A,B,C] y)",
                  fmt::format("s = Transpose <perm = [1,0,2]> (x)\n"
                              "z = {} <hidden_size = 1, {}> (s, W, R{})\n"
                              "y = Transpose <perm = [2,0,1,3]> (z)",
                              op, attributes, more));
  const auto gates = std::ssize(w);
  *model.mutable_graph()->add_initializer() =
      float_tensor("W", {1, gates, 1}, w);
  *model.mutable_graph()->add_initializer() =
      float_tensor("R", {1, gates, 1}, r);
  return model;
}

// By the equations of LSTM-14, in the order i, o, f, c of W, R and P. ONNX
// Runtime does not clip cells.
TEST(OnnxRecurrent, RunsPeepholesClipAndInputForget) {
  const std::vector<float> w{0.8f, -0.6f, 1.1f, 2}, r{0.1f, 0.2f, 0.3f, 0.4f};
  const std::vector<float> p{0.5f, -0.7f, 0.3f};
  const std::vector<float> x{0.5f, -1.5f, 0.9f};
  for (const bool input_forget : {false, true}) {
    onnx::ModelProto model = unit_model(
        "LSTM",
        fmt::format("clip = 0.7, input_forget = {}", input_forget ? 1 : 0), w,
        r, ", , , , , P");
    *model.mutable_graph()->add_initializer() = float_tensor("P", {1, 3}, p);
    const Tensor y =
        onnx_reference_from_bytes(model.SerializeAsString())
            .predict(Tensor::of({1, 3, 1}, std::span<const float>(x)));
    const auto clipped = [](float z) { return std::clamp(z, -0.7f, 0.7f); };
    const auto sigmoid = [&](float z) {
      return 1 / (1 + std::exp(-clipped(z)));
    };
    float h = 0, c = 0;
    for (size_t t = 0; t < x.size(); ++t) {
      const auto z = [&](size_t gate) { return w[gate] * x[t] + r[gate] * h; };
      const float i = sigmoid(z(0) + p[0] * c);
      const float f = input_forget ? 1 - i : sigmoid(z(2) + p[2] * c);
      const float candidate = std::tanh(clipped(z(3)));
      c = f * c + i * candidate;
      h = sigmoid(z(1) + p[1] * c) * std::tanh(c);
      EXPECT_NEAR(y.f32()[t], h, 1e-6f) << t;
    }
  }
}

TEST(OnnxRecurrent, RunsTheFunctionsOfTheOperators) {
  const std::vector<float> x{-3, -0.75f, 0, 0.5f, 2.5f};
  const auto run = [&](const std::string& attributes) {
    const onnx::ModelProto model =
        unit_model("RNN", "activations = " + attributes, {1}, {0});
    return values(
        onnx_reference_from_bytes(model.SerializeAsString())
            .predict(Tensor::of({5, 1, 1}, std::span<const float>(x))));
  };
  const auto expect = [&](const std::string& attributes,
                          const std::function<float(float)>& f) {
    const auto y = run(attributes);
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(y[i], f(x[i]), 1e-6f) << attributes << " of " << x[i];
    }
  };
  expect(R"(["Affine"], activation_alpha = [2.0], activation_beta = [0.5])",
         [](float v) { return 2 * v + 0.5f; });
  expect(R"(["Elu"])", [](float v) { return v < 0 ? std::exp(v) - 1 : v; });
  expect(R"(["LeakyRelu"], activation_alpha = [0.3])",
         [](float v) { return v < 0 ? 0.3f * v : v; });
  expect(R"(["ScaledTanh"], activation_alpha = [1.5], activation_beta = [0.5])",
         [](float v) { return 1.5f * std::tanh(0.5f * v); });
  expect(R"(["Softplus"])", [](float v) { return std::log(1 + std::exp(v)); });
  expect(R"(["Softsign"])", [](float v) { return v / (1 + std::fabs(v)); });
  expect(R"(["ThresholdedRelu"], activation_alpha = [0.6])",
         [](float v) { return v > 0.6f ? v : 0; });
  // ONNX Runtime ignores the case.
  expect(R"(["tanh"])", [](float v) { return std::tanh(v); });
}

TEST(OnnxRecurrent, RejectsInvalidOptionsOfARun) {
  const auto reason = [](const std::string& attributes) {
    const onnx::ModelProto model = unit_model("RNN", attributes, {1}, {0});
    return failure_of<Error>([&] {
             (void)onnx_reference_from_bytes(model.SerializeAsString())
                 .predict(Tensor::zeros({2, 1, 1}));
           })
        .message;
  };
  EXPECT_THAT(reason("clip = -1.0"), HasSubstr("clip must be >= 0, got -1"));
  EXPECT_THAT(reason(R"(activations = ["Gelu"])"),
              HasSubstr("unknown activation 'Gelu'"));
  EXPECT_THAT(reason(R"(activations = ["ScaledTanh"])"),
              HasSubstr("activation_alpha must be given for ScaledTanh"));
  EXPECT_THAT(reason(R"(activations = ["Tanh", "Tanh"])"),
              HasSubstr("must have 1 name, got 2"));
}

TEST(OnnxRecurrent, StaysFloatBesideQuantizedLayers) {
  const SymbolicTensor x = input({6, 4}, "x");
  const SymbolicTensor y = LSTM({.units = 5, .name = "memory"})(
      Dense({.units = 6, .activation = "relu", .name = "steps"})(x));
  const Model model(x, Dense({.units = 2, .name = "scores"})(y));
  shake(model);
  Model int8 = quant::quantize_model(model);
  const Tensor samples = noise({8, 6, 4});
  quant::calibrate(int8, [&](const Model& m) { (void)m.predict(samples); });
  const OnnxFile file = to_onnx(int8);
  // Inputs and weights of both Dense layers.
  EXPECT_EQ(file.report.qdq_pairs, 4);
  const NoGradGuard no_grad;
  expect_equal(onnx_reference_from_bytes(file.bytes).predict(samples),
               int8(Variable(samples)).value());
}

// A node with the attributes and inputs, and X [t,N,c] of an input [N,t,c].
onnx::ModelProto node_model(const std::string& op,
                            const std::string& attributes,
                            const std::string& more, int64_t gates,
                            const std::string& outputs = "y") {
  onnx::ModelProto model =
      graph_model("(float[N,5,3] x) => (float[A,B,C,D] y)",
                  "s = Transpose <perm = [1,0,2]> (x)\n" + outputs + " = " +
                      op + " <" + attributes + "> (s, W, R, B" + more + ")");
  add_noise(model, "W", {1, gates * 2, 3});
  add_noise(model, "R", {1, gates * 2, 2});
  add_noise(model, "B", {1, 2 * gates * 2});
  return model;
}

std::string reason(const onnx::ModelProto& model) {
  return import_refusal(model).message;
}

TEST(OnnxRecurrent, RejectsOptionsByName) {
  const auto lstm = [](const std::string& attributes,
                       const std::string& more = "") {
    return node_model("LSTM", attributes, more, 4);
  };
  EXPECT_THAT(reason(lstm("clip = 2.0")), HasSubstr("clip"));
  EXPECT_THAT(reason(lstm("input_forget = 1")), HasSubstr("input_forget"));
  EXPECT_THAT(reason(lstm("hidden_size = 3")), HasSubstr("hidden_size"));
  EXPECT_THAT(reason(lstm("direction = \"sideways\"")),
              HasSubstr("direction 'sideways'"));
  EXPECT_THAT(reason(lstm("activations = [\"Elu\", \"Tanh\", \"Tanh\"]")),
              HasSubstr("Elu"));
  EXPECT_THAT(reason(lstm("activations = [\"Sigmoid\", \"Tanh\", \"Relu\"]")),
              HasSubstr("must be equal"));
  EXPECT_THAT(reason(lstm("activations = [\"Sigmoid\"]")),
              HasSubstr("3 names"));
  onnx::ModelProto model = lstm("hidden_size = 2", ", , h0");
  add_noise(model, "h0", {1, 1, 2});
  EXPECT_THAT(reason(model), HasSubstr("initial_h"));
  model = lstm("hidden_size = 2", ", , , , P");
  add_noise(model, "P", {1, 6});
  EXPECT_THAT(reason(model), HasSubstr("peepholes"));
  model = lstm("hidden_size = 2");
  initializer(model, "R") =
      float_tensor("R", {1, 8, 1}, std::vector<float>(8, 0.5f));
  EXPECT_THAT(reason(model), HasSubstr("W and R"));
  model = lstm("hidden_size = 2");
  initializer(model, "B") =
      float_tensor("B", {1, 8}, std::vector<float>(8, 0.5f));
  EXPECT_THAT(reason(model), HasSubstr("B must be [1,16]"));
}

TEST(OnnxRecurrent, RejectsSequencesThatAreShorterOrWithoutBatch) {
  onnx::ModelProto model = node_model("GRU", "hidden_size = 2", ", lengths", 3);
  onnx::TensorProto& lengths = *model.mutable_graph()->add_initializer();
  lengths.set_name("lengths");
  lengths.set_data_type(onnx::TensorProto::INT32);
  lengths.add_dims(1);
  lengths.add_int32_data(4);
  EXPECT_THAT(reason(model), HasSubstr("sequence_lens"));
  onnx::ModelProto batch =
      node_model("RNN", "hidden_size = 2, layout = 1", "", 1);
  batch.mutable_opset_import(0)->set_version(14);
  EXPECT_THAT(reason(batch), HasSubstr("batch as axis 0"));
}

}  // namespace
}  // namespace octet::io
