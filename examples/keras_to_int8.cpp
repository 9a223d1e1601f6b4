// Converts a Keras classifier to INT8: calibrates, fine-tunes and exports its
// logits, and prints the accuracy of each step on held-out samples.
#include <filesystem>
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
  std::string inputs;
  std::string labels;
  std::string out = "build/out/int8.onnx";
  int64_t epochs = 5;
  double rate = 1e-4;
};

void run(const Options& o) {
  program::check_output(o.out);
  // Losses and TensorRT's INT8 kernels need logits; the predicted classes are
  // the same.
  const Model model = train::logits_model(io::load_keras(o.model));
  const Dataset data(io::read_npy(o.inputs), io::read_npy(o.labels));
  const auto [fitted, test] =
      data.hold_out(0.5, {.seed = 1, .stratified = true});
  const auto show = [&](const char* what, const Model& m) {
    std::cout << fmt::format(
        "{:<16} {:6.2f} %\n", what,
        program::percent(train::evaluate(m, test).accuracy));
  };
  std::cout << fmt::format("{} training samples, {} test samples\n\n",
                           fitted.size(), test.size());
  show("float", model);

  Model int8 = quant::quantize_model(model);
  quant::calibrate(int8, fitted);
  show("INT8, calibrated", int8);

  quant::prepare_qat(int8);
  quant::freeze_bn_stats(int8);
  train::fit(
      int8, fitted,
      {.epochs = o.epochs,
       .optimizer = train::Adam({.learning_rate = static_cast<float>(o.rate)}),
       .schedule = train::cosine(),
       .callbacks = {train::progress_bar("QAT")}});
  show("INT8, fine-tuned", int8);

  const io::OnnxExportReport file = io::export_onnx(int8, o.out);
  std::cout << fmt::format("\n{}: {} nodes, {} Q/DQ pairs, {} bytes\n", o.out,
                           file.nodes, file.qdq_pairs, file.bytes);
}

}  // namespace

int main(int argc, char** argv) {
  program::CommandLine command(
      "Convert a Keras classifier to INT8 for TensorRT. Half of the samples "
      "serve calibration and fine-tuning, half testing.");
  Options o;
  command.add("model", o.model, "Keras file (.h5, .keras)").required();
  command.add("inputs", o.inputs, "preprocessed samples X.npy, float32 [N,...]")
      .required();
  command.add("labels", o.labels, "class labels L.npy, int64 [N]").required();
  command.add("--epochs", o.epochs, 1, 1000,
              "number of fine-tuning epochs (default: 5)");
  command.add("--rate", o.rate, 0, 1,
              "learning rate of fine-tuning (default: 1e-4)");
  command.add("--out", o.out, "output file").type("OUT.onnx").show_default();
  return command.run(argc, argv, [&] { run(o); });
}
