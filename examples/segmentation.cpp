// Segmentation: trains a U-Net that assigns a class to each pixel of pictures
// with overlapping Fashion-MNIST images, quantizes, fine-tunes and exports it.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <string>

#include <fmt/format.h>

#include <octet/octet.h>

#include "common/command_line.h"
#include "common/program.h"

using namespace octet;

namespace {

constexpr int64_t kHeight = 48, kWidth = 64;  // of a picture
constexpr int64_t kSide = 28;                 // of an image
constexpr int64_t kClasses = 11;              // background and ten classes
// Label of ambiguous pixels at edges.
constexpr int64_t kIgnored = 255;

struct Options {
  int64_t samples = 6000;
  int64_t epochs = 8;
  std::string out = "build/out/segmentation";
};

// Draws an image [28,28] of class `kind` onto a picture and its mask. Faint
// pixels are ignored.
void paint(const Tensor& image, int64_t kind, int64_t top, int64_t left,
           Tensor& picture, Tensor& mask) {
  for (int64_t y = 0; y < kSide; ++y) {
    for (int64_t x = 0; x < kSide; ++x) {
      const float value = image.f32()[static_cast<size_t>(y * kSide + x)];
      const auto to = static_cast<size_t>((top + y) * kWidth + left + x);
      if (value < 0.05f) continue;
      picture.f32()[to] = value;
      mask.data<int64_t>()[to] = value < 0.15f ? kIgnored : kind + 1;
    }
  }
}

// Returns pictures with two images each; labels are masks [kHeight,kWidth].
Dataset pictures(const Dataset& clothes, const Rng& rng) {
  const int64_t n = clothes.size() / 2;
  const Batch all = clothes.batch(0, 2 * n);
  const Tensor kinds = all.label();
  Tensor x = Tensor::zeros({n, kHeight, kWidth, 1});
  Tensor masks = Tensor::zeros({n, kHeight, kWidth}, DType::i64);
  for (int64_t i = 0; i < 2 * n; ++i) {
    Rng own = rng.child(static_cast<uint64_t>(i));
    Tensor picture = x.slice(i / 2, 1);  // shares the memory
    Tensor mask = masks.slice(i / 2, 1);
    paint(all.input().slice(i, 1),
          kinds.data<int64_t>()[static_cast<size_t>(i)],
          own.below(kHeight - kSide + 1), own.below(kWidth - kSide + 1),
          picture, mask);
  }
  return Dataset(x, masks);
}

const train::Loss kLoss =
    train::losses::sparse_categorical_cross_entropy({.ignore_label = kIgnored});

void show(const char* what, const Model& model, const Dataset& test) {
  const train::ConfusionMatrix pixels = train::confusion_matrix(
      model, test, {.batch_size = 100, .ignore_label = kIgnored});
  std::cout << fmt::format(
      "{:<18} mean IoU {:.3f}   pixel accuracy {:5.2f} %\n", what,
      pixels.mean_iou(), program::percent(pixels.accuracy()));
}

void run(const Options& o) {
  const std::filesystem::path out = o.out;
  ensure_writable_folder(out);
  const auto [clothes, others] = io::fashion_mnist();
  const Dataset training =
      pictures(clothes.sample(2 * o.samples), Rng(1).child("training"));
  const Dataset test =
      pictures(others.sample(o.samples / 2), Rng(1).child("test"));

  Model model = zoo::unet(
      {.input = {kHeight, kWidth, 1}, .classes = kClasses, .seed = 1});
  // Augmentation transforms masks with their pictures.
  train::fit(model, training,
             {.epochs = o.epochs,
              .batch_size = 32,
              .optimizer = train::Adam({.learning_rate = 2e-3f}),
              .schedule = train::cosine(),
              .callbacks = {train::progress_bar("fp32")},
              .loss = kLoss,
              .augmentation = {train::random_flip(),
                               train::random_rotation({.degrees = 10})}});
  show("float", model, test);

  Model int8 = quant::quantize_model(model);
  quant::calibrate(int8, training, {.samples = 256});
  show("INT8, calibrated", int8, test);
  quant::prepare_qat(int8);
  quant::freeze_bn_stats(int8);
  train::fit(int8, training,
             {.epochs = 1,
              .batch_size = 32,
              .optimizer = train::Adam({.learning_rate = 2e-4f}),
              .callbacks = {train::progress_bar("qat")},
              .loss = kLoss});
  show("INT8, fine-tuned", int8, test);

  // Exports the model, and a few pictures with their logits, both NCHW.
  const io::OnnxExportReport file = io::export_onnx(int8, out / "model.onnx");
  const Batch few = test.batch(0, std::min<int64_t>(16, test.size()));
  io::write_npy(out / "input.npy", few.input().transposed({0, 3, 1, 2}));
  io::write_npy(out / "logits.npy",
                int8.predict(few.input()).transposed({0, 3, 1, 2}));
  std::cout << fmt::format("{}: {} nodes, {} Q/DQ pairs, {} bytes\n",
                           (out / "model.onnx").string(), file.nodes,
                           file.qdq_pairs, file.bytes);
}

}  // namespace

int main(int argc, char** argv) {
  program::CommandLine command(
      "Train a U-Net for segmentation and quantize it to INT8 for TensorRT.");
  Options o;
  command.add("--samples", o.samples, 32, 30000,
              "number of training samples (default: 6000)");
  command.add("--epochs", o.epochs, 1, 1000, "number of epochs (default: 8)");
  command.add("--out", o.out, "output folder").type("DIR").show_default();
  return command.run(argc, argv, [&] { run(o); });
}
