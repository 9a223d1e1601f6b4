// A small 1-D network for an accelerometer on a motor: trained, quantized,
// fine-tuned, exported, and the file compared with the model. Signals are
// synthetic: a sound motor, an unbalanced motor, or a knocking bearing.
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <numbers>
#include <string>

#include <fmt/format.h>

#include <octet/octet.h>

#include "common/command_line.h"
#include "common/program.h"

using namespace octet;

namespace {

constexpr std::array<const char*, 3> kClasses{"sound", "unbalanced",
                                              "knocking"};
constexpr int64_t kLength = 256;  // samples per window
constexpr int64_t kAxes = 3;      // of the accelerometer

struct Options {
  int64_t windows = 2400;
  int64_t epochs = 12;
  double noise = 0.4;
  std::string out = "build/out/vibration_int8.onnx";
};

// Generates a window [l,c] of a motor with a random speed.
void vibrate(std::span<float> window, int64_t condition, float noise, Rng rng) {
  constexpr float kTurn = 2 * std::numbers::pi_v<float>;
  const float speed = 0.02f + 0.02f * rng.uniform();  // turns per sample
  const float phase = kTurn * rng.uniform();
  const float unbalance = condition == 1 ? 0.6f + 0.4f * rng.uniform() : 0.2f;
  const float knock = condition == 2 ? 1.2f + 0.8f * rng.uniform() : 0;
  const float knocks = speed * (3.1f + 0.4f * rng.uniform());  // per sample
  for (int64_t t = 0; t < kLength; ++t) {
    const float turns = speed * static_cast<float>(t);
    const float since = std::fmod(knocks * static_cast<float>(t), 1.0f);
    const float ring =
        knock * std::exp(-14 * since) * std::sin(kTurn * 9 * since);
    for (int64_t axis = 0; axis < kAxes; ++axis) {
      const float lag = static_cast<float>(axis) / 4;
      float value = unbalance * std::sin(kTurn * (turns + lag) + phase) +
                    0.3f * std::sin(kTurn * (2 * turns - lag) + phase);
      if (axis != 1) value += ring;
      window[static_cast<size_t>(t * kAxes + axis)] =
          value + noise * rng.normal();
    }
  }
}

Dataset windows(int64_t count, float noise, const Rng& rng) {
  Tensor x({count, kLength, kAxes});
  Tensor labels({count}, DType::i64);
  constexpr size_t kSize = kLength * kAxes;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t condition = i % std::ssize(kClasses);
    labels.data<int64_t>()[static_cast<size_t>(i)] = condition;
    vibrate(x.f32().subspan(static_cast<size_t>(i) * kSize, kSize), condition,
            noise, rng.child(static_cast<uint64_t>(i)));
  }
  return Dataset(x, labels);
}

// Depthwise and pointwise convolutions, as in keyword spotting.
Model network() {
  const SymbolicTensor window = input({kLength, kAxes}, "window");
  const auto block = [](const SymbolicTensor& x) {
    return ReLU()(BatchNormalization({.momentum = 0.9f})(x));
  };
  SymbolicTensor x = block(Conv1D({.filters = 16,
                                   .kernel_size = 9,
                                   .strides = 2,
                                   .padding = "same",
                                   .use_bias = false})(window));
  for (const int64_t filters : {24, 32}) {
    x = block(DepthwiseConv1D(
        {.kernel_size = 5, .padding = "same", .use_bias = false})(x));
    x = block(
        Conv1D({.filters = filters, .kernel_size = 1, .use_bias = false})(x));
    x = MaxPooling1D({.pool_size = 4})(x);
  }
  x = Dropout({.rate = 0.2f})(GlobalAveragePooling1D()(x));
  return Model(window, Dense({.units = std::ssize(kClasses)})(x),
               {.name = "vibration"});
}

int64_t best(const Tensor& scores, int64_t sample) {
  const Tensor row = scores.slice(sample, 1);
  return std::ranges::max_element(row.f32()) - row.f32().begin();
}

// Returns the share of samples with the same class from file and model.
// Sequences are [n,c,l] in ONNX.
double agreement(const Model& model, const io::OnnxReference& file,
                 const Dataset& test) {
  const Tensor x = test.batch(0, test.size()).input();
  const Tensor ours = model.predict(x);
  const Tensor theirs = file.predict(x.transposed({0, 2, 1}));
  int64_t same = 0;
  for (int64_t i = 0; i < test.size(); ++i) {
    same += best(ours, i) == best(theirs, i);
  }
  return static_cast<double>(same) / static_cast<double>(test.size());
}

void run(const Options& o) {
  const std::filesystem::path out = o.out;
  if (out.has_parent_path()) ensure_writable_folder(out.parent_path());
  const auto noise = static_cast<float>(o.noise);
  const Dataset training = windows(o.windows, noise, Rng(1).child("training"));
  const Dataset test = windows(o.windows / 4, noise, Rng(1).child("test"));
  const auto show = [&](const char* what, const Model& m) {
    std::cout << fmt::format(
        "{:<16} {:6.2f} %\n", what,
        program::percent(train::evaluate(m, test).accuracy));
  };

  Model model = network();
  train::fit(model, training,
             {.epochs = o.epochs,
              .optimizer = train::Adam({.learning_rate = 3e-3f}),
              .schedule = train::cosine(),
              .callbacks = {train::progress_bar("fp32")}});
  show("float", model);

  Model int8 = quant::quantize_model(model);
  quant::calibrate(int8, training);
  show("INT8, calibrated", int8);

  quant::prepare_qat(int8);
  quant::freeze_bn_stats(int8);
  train::fit(int8, training,
             {.epochs = 1,
              .optimizer = train::Adam({.learning_rate = 3e-4f}),
              .callbacks = {train::progress_bar("qat")}});
  show("INT8, fine-tuned", int8);

  const io::OnnxExportReport file = io::export_onnx(
      int8, out, {.classes = {kClasses.begin(), kClasses.end()}});
  std::cout << fmt::format(
      "{:<16} {:6.2f} %\n", "file vs. model",
      program::percent(agreement(int8, io::load_onnx_reference(out), test)));
  std::cout << fmt::format("{}: {} nodes, {} Q/DQ pairs, {} bytes\n", o.out,
                           file.nodes, file.qdq_pairs, file.bytes);
}

}  // namespace

int main(int argc, char** argv) {
  program::CommandLine command(
      "Train a 1-D network that classifies motor vibrations, and quantize it "
      "to INT8 for TensorRT.");
  Options o;
  command.add("--windows", o.windows, 12, 1 << 20,
              "number of training windows (default: 2400)");
  command.add("--epochs", o.epochs, 1, 1000, "number of epochs (default: 12)");
  command.add("--noise", o.noise, 0, 100,
              "standard deviation of the noise (default: 0.4)");
  command.add("--out", o.out, "output file").type("OUT.onnx").show_default();
  return command.run(argc, argv, [&] { run(o); });
}
