// The basics: train a small network, export it, quantize it, fine-tune it, and
// export the result.
#include <filesystem>
#include <iostream>
#include <string>

#include <octet/octet.h>

#include "common/command_line.h"
#include "common/program.h"

using namespace octet;

namespace {

struct Options {
  int64_t limit = 0;  // training images; 0: all
  std::string out = "build/out";
};

void run(const Options& o) {
  auto [train_set, test_set] = io::fashion_mnist();
  if (o.limit > 0) train_set = train_set.take(o.limit);
  const std::filesystem::path out = o.out;
  ensure_writable_folder(out);

  // 1. Create a simple model.
  auto image = input({28, 28, 1});
  auto x = Conv2D({.filters = 2, .kernel_size = 3})(image);
  x = ReLU()(x);
  x = Flatten()(x);
  x = Dense({.units = 10})(x);
  Model model(image, x);

  // 2. Train it.
  train::FitOptions two_epochs{.epochs = 2,
                               .batch_size = 32,
                               .callbacks = {train::progress_bar("fp32")},
                               .validation_split = 0.1};
  train::fit(model, train_set, two_epochs);
  std::cout << "FP32: " << train::evaluate(model, test_set) << '\n';

  // 3. Export it.
  io::export_onnx(model, out / "basics_fp32.onnx");

  // 4. Quantize it: creates a new model, calibrated on training images.
  Model q_model = quant::quantize_model(model);
  quant::calibrate(q_model, train_set.take(2048));
  std::cout << "INT8: " << train::evaluate(q_model, test_set) << '\n';

  // 5. Fine-tune the quantized model for two epochs.
  quant::prepare_qat(q_model);
  two_epochs.optimizer = train::Adam({.learning_rate = 1e-4f});
  two_epochs.callbacks = {train::progress_bar("int8")};
  train::fit(q_model, train_set, two_epochs);
  std::cout << "INT8, fine-tuned: " << train::evaluate(q_model, test_set)
            << '\n';

  // 6. Export it with its Q/DQ pairs.
  const io::OnnxExportReport file =
      io::export_onnx(q_model, out / "basics_int8.onnx");
  std::cout << file.qdq_pairs << " Q/DQ pairs in basics_int8.onnx\n";
}

}  // namespace

int main(int argc, char** argv) {
  program::CommandLine command(
      "Train, quantize and fine-tune a small network on Fashion-MNIST, and "
      "export it as ONNX.");
  Options options;
  command.add("--limit", options.limit, 32, 60000,
              "number of training images (default: all)");
  command.add("--out", options.out, "output folder").type("DIR").show_default();
  return command.run(argc, argv, [&] { run(options); });
}
