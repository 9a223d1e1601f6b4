// From a classifier that Keras saved to INT8: its logits, calibrated,
// fine-tuned and exported, with the accuracy of each on samples that it was not
// fitted to.
#include <filesystem>
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
  std::string inputs;
  std::string labels;
  std::string out = "build/out/int8.onnx";
  int64_t epochs = 5;
  double rate = 1e-4;
};

void run(const Options& o) {
  program::check_output(o.out);
  // Losses and TensorRT's INT8 kernels take logits; the classes stay the same.
  const Model model = train::logits_model(io::load_keras(o.model));
  const Dataset data(io::read_npy(o.inputs), io::read_npy(o.labels));
  const auto [fitted, test] = data.split(0.5, {.seed = 1, .stratified = true});
  const auto show = [&](const char* what, const Model& m) {
    std::cout << fmt::format(
        "{:<16} {:6.2f} %\n", what,
        program::percent(train::evaluate(m, test).accuracy));
  };
  std::cout << fmt::format("{} samples to fit to, {} to test on\n\n",
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

  const io::OnnxReport file = io::export_onnx(int8, o.out);
  std::cout << fmt::format("\n{}: {} nodes, {} Q/DQ pairs, {} bytes\n", o.out,
                           file.nodes, file.qdq_pairs, file.bytes);
}

}  // namespace

int main(int argc, char** argv) {
  program::CommandLine command(
      "Makes an INT8 network for TensorRT of a classifier that Keras saved. "
      "Half of the samples calibrate and fine-tune it, the others test it.");
  Options o;
  command.add("model", o.model, "a file of Keras (.h5, .keras)").required();
  command
      .add("inputs", o.inputs, "X.npy: float32 [N,...] as the model takes them")
      .required();
  command.add("labels", o.labels, "L.npy: int64 [N], the classes").required();
  command.add("--epochs", o.epochs, 1, 1000, "of fine-tuning (5)");
  command.add("--rate", o.rate, 0, 1,
              "learning rate of the fine-tuning (1e-4)");
  command.add("--out", o.out, "what to write").type("OUT.onnx").show_default();
  return command.run(argc, argv, [&] { run(o); });
}
