// Transfer learning: the layers of a network that Keras saved, a new head for
// the classes of Fashion-MNIST, trained alone at first, then with the rest.
#include <cstdint>
#include <iostream>
#include <string>

#include <fmt/format.h>

#include <octet/octet.h>

#include "command_line.h"
#include "program.h"

using namespace octet;

namespace {

struct Options {
  std::string model;
  std::string out = "build/out/transfer.onnx";
  int64_t limit = 0;  // training images; 0: all
  int64_t epochs = 2;
  double scale = 255;
};

/// What the last Dense layer reads: the features of the network.
SymbolicTensor features_of(const Model& model) {
  const auto nodes = model.nodes();
  for (size_t i = nodes.size(); i-- > 0;) {
    if (nodes[i]->layer->class_name() == "Dense") return nodes[i]->inputs[0];
  }
  throw ValueError(
      "transfer_learning: expected a network with a Dense layer, got none");
}

/// Images in the middle of larger ones, in all channels, times `scale`.
Dataset fitted_to(const Shape& input, const Dataset& images, double scale) {
  const Shape from = images.input_shape();
  const int64_t h = input[1], w = input[2], c = input[3];
  if (h < from[0] || w < from[1]) {
    throw ShapeError(fmt::format(
        "transfer_learning: expected a network for images of at least {}x{}, "
        "got {}",
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
  show("before");

  model.set_trainable(false);
  model.set_trainable("head", true);
  train::fit(model, training,
             {.epochs = o.epochs,
              .optimizer = train::Adam({.learning_rate = 1e-2f}),
              .callbacks = {train::progress_bar("head")}});
  show("the head alone");

  model.set_trainable(true);
  train::fit(model, training,
             {.epochs = o.epochs,
              .optimizer = train::Adam({.learning_rate = 1e-3f}),
              .callbacks = {train::progress_bar("all")}});
  show("fine-tuned as a whole");

  const io::OnnxReport file = io::export_onnx(model, o.out);
  std::cout << fmt::format("{}: {} nodes, {} bytes\n", o.out, file.nodes,
                           file.bytes);
}

}  // namespace

int main(int argc, char** argv) {
  program::CommandLine command(
      "Trains the layers of a network that Keras saved for the classes of "
      "Fashion-MNIST, under a new head.");
  Options o;
  command.add("model", o.model, "a file of Keras (.h5, .keras)").required();
  command.add("--limit", o.limit, 32, 60000,
              "train and test on N images, chosen by chance (all)");
  command.add("--epochs", o.epochs, 1, 1000, "of each of both trainings (2)");
  command.add("--scale", o.scale, 1e-6, 1e6,
              "of pixels in [0,1], to what the network takes (255)");
  command.add("--out", o.out, "what to write").type("OUT.onnx").show_default();
  return command.run(argc, argv, [&] { run(o); });
}
