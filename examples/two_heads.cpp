// A small detector: a network with two outputs and a loss for each. One head
// locates an image of Fashion-MNIST on a larger picture, the other classifies
// it. Trained, quantized, fine-tuned and exported.
#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <octet/octet.h>

#include "common/command_line.h"
#include "common/program.h"

using namespace octet;

namespace {

constexpr int64_t kHeight = 40, kWidth = 56;  // of a picture
constexpr int64_t kLeast = 18, kMost = 36;    // side of the image

struct Options {
  int64_t samples = 12000;
  int64_t epochs = 8;
  std::string out = "build/out/two_heads";
};

// Draws an image [28,28] onto a picture [kHeight,kWidth], `side` pixels wide.
void paint(std::span<const float> image, int64_t top, int64_t left,
           int64_t side, std::span<float> picture) {
  for (int64_t y = 0; y < side; ++y) {
    for (int64_t x = 0; x < side; ++x) {
      const int64_t from = y * 28 / side * 28 + x * 28 / side;
      const int64_t to = (top + y) * kWidth + left + x;
      picture[static_cast<size_t>(to)] = image[static_cast<size_t>(from)];
    }
  }
}

// Returns pictures with labels: "box" [4], the center (y, x), height and width
// relative to the picture; "kind", the class.
Dataset pictures(const Dataset& clothes, const Rng& rng) {
  const int64_t n = clothes.size();
  const Batch all = clothes.batch(0, n);
  Tensor x = Tensor::zeros({n, kHeight, kWidth, 1});
  Tensor boxes({n, 4});
  for (int64_t i = 0; i < n; ++i) {
    Rng own = rng.child(static_cast<uint64_t>(i));
    const int64_t side = kLeast + own.below(kMost - kLeast + 1);
    const int64_t top = own.below(kHeight - side + 1);
    const int64_t left = own.below(kWidth - side + 1);
    const Tensor image = all.input().slice(i, 1);
    Tensor picture = x.slice(i, 1);
    paint(image.f32(), top, left, side, picture.f32());
    const auto half = static_cast<float>(side) / 2;
    const std::array box{(static_cast<float>(top) + half) / kHeight,
                         (static_cast<float>(left) + half) / kWidth,
                         2 * half / kHeight, 2 * half / kWidth};
    std::ranges::copy(box, boxes.f32().begin() + 4 * i);
  }
  return Dataset({{"picture", x}}, {{"box", boxes}, {"kind", all.label()}});
}

Model network() {
  const SymbolicTensor picture = input({kHeight, kWidth, 1}, "picture");
  const auto block = [](const SymbolicTensor& x, int64_t filters) {
    const Conv2D convolution({.filters = filters,
                              .kernel_size = 3,
                              .strides = 2,
                              .padding = "same",
                              .use_bias = false});
    return ReLU()(BatchNormalization({.momentum = 0.9f})(convolution(x)));
  };
  SymbolicTensor x = picture;
  for (const int64_t filters : {16, 32, 64}) x = block(x, filters);
  const auto head = [](const char* name, int64_t units,
                       const SymbolicTensor& features) {
    const SymbolicTensor hidden =
        Dense({.units = 64, .activation = "relu"})(features);
    return Dense({.units = units, .name = name})(hidden);
  };
  // The box depends on the position in the picture, the class does not.
  return Model(
      {picture},
      {head("box", 4, Flatten()(x)), head("kind", 10, GlobalMaxPooling2D()(x))},
      {.name = "two_heads"});
}

// Returns the intersection over union of two boxes.
double overlap(std::span<const float> a, std::span<const float> b) {
  const auto common = [&](size_t axis) {
    const float low =
        std::max(a[axis] - a[axis + 2] / 2, b[axis] - b[axis + 2] / 2);
    const float high =
        std::min(a[axis] + a[axis + 2] / 2, b[axis] + b[axis + 2] / 2);
    return std::max(0.0f, high - low);
  };
  const double both = double{common(0)} * double{common(1)};
  return both /
         (double{a[2]} * double{a[3]} + double{b[2]} * double{b[3]} - both);
}

train::Metric iou() {
  return {"iou", [](const Tensor& boxes, const Batch& batch) {
            std::vector<double> each;
            for (int64_t i = 0; i < batch.size(); ++i) {
              const auto at = static_cast<size_t>(4 * i);
              each.push_back(overlap(boxes.f32().subspan(at, 4),
                                     batch.label().f32().subspan(at, 4)));
            }
            return each;
          }};
}

train::Losses losses() {
  return {{"box", train::losses::huber(), 20.0f, {iou()}},
          {"kind", train::losses::sparse_categorical_cross_entropy()}};
}

void show(const char* what, const Model& model, const Dataset& test) {
  const train::Evaluation measured =
      train::evaluate(model, test, {.loss = losses()});
  std::cout << fmt::format("{:<18} IoU {:.3f}   class accuracy {:5.2f} %\n",
                           what, measured.value("box_iou"),
                           program::percent(measured.value("kind_accuracy")));
}

void run(const Options& o) {
  const std::filesystem::path out = o.out;
  ensure_writable_folder(out);
  const auto [clothes, others] = io::fashion_mnist();
  const Dataset training =
      pictures(clothes.sample(o.samples), Rng(1).child("training"));
  const Dataset test =
      pictures(others.sample(o.samples / 4), Rng(1).child("test"));

  Model model = network();
  train::fit(model, training,
             {.epochs = o.epochs,
              .optimizer = train::Adam({.learning_rate = 2e-3f}),
              .schedule = train::cosine(),
              .callbacks = {train::progress_bar("fp32")},
              .loss = losses()});
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
              .loss = losses()});
  show("INT8, fine-tuned", int8, test);

  // Exports the model, and a few pictures with their outputs, NCHW.
  const io::OnnxExportReport file =
      io::export_onnx(int8, out / "model.onnx", {.input_name = "picture"});
  const Batch few = test.batch(0, std::min<int64_t>(64, test.size()));
  const std::vector<Tensor> answers = int8.predict(few.inputs);
  io::write_npy(out / "picture.npy", few.input().transposed({0, 3, 1, 2}));
  io::write_npy(out / "box.npy", answers[0]);
  io::write_npy(out / "kind.npy", answers[1]);
  std::cout << fmt::format("{}: {} nodes, {} Q/DQ pairs, {} bytes\n",
                           (out / "model.onnx").string(), file.nodes,
                           file.qdq_pairs, file.bytes);
}

}  // namespace

int main(int argc, char** argv) {
  program::CommandLine command(
      "Train a detector with two heads and quantize it to INT8 for TensorRT.");
  Options o;
  command.add("--samples", o.samples, 64, 60000,
              "number of training samples (default: 12000)");
  command.add("--epochs", o.epochs, 1, 1000, "number of epochs (default: 8)");
  command.add("--out", o.out, "output folder").type("DIR").show_default();
  return command.run(argc, argv, [&] { run(o); });
}
