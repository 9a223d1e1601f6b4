// A Siamese network: a shared encoder of two images, and a head that predicts
// whether they show the same class of Fashion-MNIST. Trained, quantized,
// fine-tuned and exported.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <octet/octet.h>

#include "common/command_line.h"
#include "common/program.h"

using namespace octet;

namespace {

struct Options {
  int64_t pairs = 16000;
  int64_t epochs = 6;
  std::string out = "build/out/two_towers";
};

// Returns pairs of images, half of them of the same class. Labels [n,1]: 1 for
// the same class, else 0.
Dataset pairs_of(const Dataset& clothes, int64_t count, Rng rng) {
  const Tensor labels = clothes.labels();
  const auto classes = labels.data<int64_t>();
  std::vector<std::vector<int64_t>> members(10);
  for (size_t i = 0; i < classes.size(); ++i) {
    members[static_cast<size_t>(classes[i])].push_back(static_cast<int64_t>(i));
  }
  const auto any_of = [&](int64_t kind) {
    const std::vector<int64_t>& all = members[static_cast<size_t>(kind)];
    return all[static_cast<size_t>(rng.below(std::ssize(all)))];
  };
  std::vector<int64_t> left, right;
  Tensor same({count, 1});
  for (int64_t i = 0; i < count; ++i) {
    const int64_t kind = rng.below(10);
    const int64_t other = (kind + 1 + rng.below(9)) % 10;
    left.push_back(any_of(kind));
    right.push_back(any_of(i % 2 == 0 ? kind : other));
    same.f32()[static_cast<size_t>(i)] = i % 2 == 0 ? 1.0f : 0.0f;
  }
  return Dataset({{"left", clothes.batch(left).input()},
                  {"right", clothes.batch(right).input()}},
                 {{"same", same}});
}

// [28,28,1] -> [32]
Model encoder() {
  const SymbolicTensor image = input({28, 28, 1}, "image");
  SymbolicTensor x = image;
  for (const int64_t filters : {16, 32}) {
    x = Conv2D({.filters = filters, .kernel_size = 3, .use_bias = false})(x);
    x = ReLU()(BatchNormalization({.momentum = 0.9f})(x));
    x = MaxPooling2D({.pool_size = 2})(x);
  }
  return Model(image, Dense({.units = 32})(Flatten()(x)), {.name = "encoder"});
}

// Calls the encoder twice: both towers share weights.
Model network() {
  Model tower = encoder();
  const SymbolicTensor left = input({28, 28, 1}, "left");
  const SymbolicTensor right = input({28, 28, 1}, "right");
  const SymbolicTensor difference = Subtract()({tower(left), tower(right)});
  const SymbolicTensor square = Multiply()({difference, difference});
  return Model({left, right}, {Dense({.units = 1, .name = "same"})(square)},
               {.name = "two_towers"});
}

void show(const char* what, const Model& model, const Dataset& test) {
  const train::Evaluation measured = train::evaluate(
      model, test, {.loss = train::losses::binary_cross_entropy()});
  std::cout << fmt::format("{:<18} {:5.2f} % of {} pairs correct\n", what,
                           program::percent(measured.value("binary_accuracy")),
                           measured.samples);
}

void run(const Options& o) {
  const std::filesystem::path out = o.out;
  ensure_writable_folder(out);
  const auto [clothes, others] = io::fashion_mnist();
  const Dataset training = pairs_of(clothes, o.pairs, Rng(1).child("training"));
  const Dataset test = pairs_of(others, o.pairs / 4, Rng(1).child("test"));

  Model model = network();
  train::fit(model, training,
             {.epochs = o.epochs,
              .optimizer = train::Adam({.learning_rate = 2e-3f}),
              .schedule = train::cosine(),
              .callbacks = {train::progress_bar("fp32")},
              .loss = train::losses::binary_cross_entropy()});
  show("float", model, test);

  Model int8 = quant::quantize_model(model);
  quant::calibrate(int8, training, {.samples = 512});
  show("INT8, calibrated", int8, test);
  quant::prepare_qat(int8);
  quant::freeze_bn_stats(int8);
  train::fit(int8, training,
             {.epochs = 1,
              .optimizer = train::Adam({.learning_rate = 2e-4f}),
              .callbacks = {train::progress_bar("qat")},
              .loss = train::losses::binary_cross_entropy()});
  show("INT8, fine-tuned", int8, test);

  // Exports the model, and a few pairs with their outputs, NCHW.
  const io::OnnxExportReport file =
      io::export_onnx(int8, out / "model.onnx", {.output_name = "same"});
  const Batch few = test.batch(0, std::min<int64_t>(64, test.size()));
  io::write_npy(out / "left.npy", few.inputs[0].transposed({0, 3, 1, 2}));
  io::write_npy(out / "right.npy", few.inputs[1].transposed({0, 3, 1, 2}));
  io::write_npy(out / "same.npy", int8.predict(few.inputs)[0]);
  std::cout << fmt::format("{}: {} nodes, {} Q/DQ pairs, {} bytes\n",
                           (out / "model.onnx").string(), file.nodes,
                           file.qdq_pairs, file.bytes);
}

}  // namespace

int main(int argc, char** argv) {
  program::CommandLine command(
      "Train a Siamese network and quantize it to INT8 for TensorRT.");
  Options o;
  command.add("--pairs", o.pairs, 64, 60000,
              "number of training pairs (default: 16000)");
  command.add("--epochs", o.epochs, 1, 1000, "number of epochs (default: 6)");
  command.add("--out", o.out, "output folder").type("DIR").show_default();
  return command.run(argc, argv, [&] { run(o); });
}
