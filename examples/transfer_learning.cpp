// Transfer learning: puts a new head for the classes of Fashion-MNIST on a
// Keras network; trains the head alone, then all layers.
#include <cstdint>
#include <iostream>
#include <string>

#include <fmt/format.h>

#include <octet/octet.h>

#include "common/command_line.h"
#include "common/program.h"

using namespace octet;

namespace {

struct Options {
  std::string model;
  std::string out = "build/out/transfer.onnx";
  int64_t limit = 0;  // training images; 0: all
  int64_t epochs = 2;
  double scale = 255;
};

/// Returns the features of the network: the input of its last Dense layer.
SymbolicTensor features_of(const Model& model) {
  const auto nodes = model.nodes();
  for (size_t i = nodes.size(); i-- > 0;) {
    if (nodes[i]->layer->class_name() == "Dense") return nodes[i]->inputs[0];
  }
  throw ValueError("unsupported_model", "transfer_learning",
                   "the network has no Dense layer");
}

/// Centers images in larger images, copies them to all channels and multiplies
/// them by `scale`.
Dataset fitted_to(const Shape& input, const Dataset& images, double scale) {
  const Shape from = images.input_shape();
  const int64_t h = input[1], w = input[2], c = input[3];
  if (h < from[0] || w < from[1]) {
    throw ShapeError(
        "unsupported_model", "transfer_learning",
        fmt::format("the network must take images of at least {}x{}, got {}",
                    from[0], from[1], input.to_string()));
  }
  return images.map([=](Batch batch) {
    const int64_t n = batch.input().shape()[0];
    Tensor larger = Tensor::zeros({n, h, w, c});
    const auto pixels = batch.input().f32();
    const auto to = larger.f32();
    const int64_t top = (h - from[0]) / 2, left = (w - from[1]) / 2;
    for (int64_t i = 0; i < n * from[0] * from[1]; ++i) {
      const int64_t image = i / (from[0] * from[1]);
      const int64_t y = i / from[1] % from[0], x = i % from[1];
      const int64_t at = ((image * h + top + y) * w + left + x) * c;
      const float value =
          static_cast<float>(scale) * pixels[static_cast<size_t>(i)];
      for (int64_t k = 0; k < c; ++k) to[static_cast<size_t>(at + k)] = value;
    }
    batch.input() = larger;
    return batch;
  });
}

void run(const Options& o) {
  program::check_output(o.out);
  const Model base = io::load_keras(o.model);
  auto [train_set, test_set] = io::fashion_mnist();
  if (o.limit > 0) {
    train_set = train_set.sample(o.limit);
    test_set = test_set.sample(o.limit);
  }
  const Shape input = base.inputs()[0].shape();
  const Dataset training = fitted_to(input, train_set, o.scale);
  const Dataset test = fitted_to(input, test_set, o.scale);

  auto logits = Dense({.units = 10, .name = "head"})(features_of(base));
  Model model(base.inputs()[0], logits);
  const auto show = [&](const char* what) {
    std::cout << fmt::format(
        "{:<28} {:6.2f} %\n", what,
        program::percent(train::evaluate(model, test).accuracy));
  };
  show("before training");

  model.set_trainable(false);
  model.set_trainable("head", true);
  train::fit(model, training,
             {.epochs = o.epochs,
              .optimizer = train::Adam({.learning_rate = 1e-2f}),
              .callbacks = {train::progress_bar("head")}});
  show("trained head");

  model.set_trainable(true);
  train::fit(model, training,
             {.epochs = o.epochs,
              .optimizer = train::Adam({.learning_rate = 1e-3f}),
              .callbacks = {train::progress_bar("all")}});
  show("fine-tuned");

  const io::OnnxExportReport file = io::export_onnx(model, o.out);
  std::cout << fmt::format("{}: {} nodes, {} bytes\n", o.out, file.nodes,
                           file.bytes);
}

}  // namespace

int main(int argc, char** argv) {
  program::CommandLine command(
      "Fine-tune a Keras network with a new head for Fashion-MNIST.");
  Options o;
  command.add("model", o.model, "Keras file (.h5, .keras)").required();
  command.add("--limit", o.limit, 32, 60000,
              "number of random training and test images (default: all)");
  command.add("--epochs", o.epochs, 1, 1000,
              "number of epochs of each training (default: 2)");
  command.add(
      "--scale", o.scale, 1e-6, 1e6,
      "factor from pixels in [0,1] to the network's input (default: 255)");
  command.add("--out", o.out, "output file").type("OUT.onnx").show_default();
  return command.run(argc, argv, [&] { run(o); });
}
