// Converts an ONNX file of another framework to INT8: imports, trains,
// calibrates, fine-tunes and exports it, and prints the accuracy of each step
// on the test images of Fashion-MNIST.
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include <octet/octet.h>

#include "common/command_line.h"
#include "common/program.h"

using namespace octet;

namespace {

struct Options {
  std::string model;
  int64_t epochs = 1;
  int64_t limit = 60000;
  std::string data = std::string(io::kFashionMnistFolder);
  std::string out = "build/out/onnx_to_int8";
};

void run(const Options& o) {
  const std::filesystem::path out = o.out;
  std::filesystem::create_directories(out);
  // [N,1,28,28] in the file, [n,28,28,1] here.
  io::OnnxImport read = io::import_onnx(o.model);
  program::print(read.report.to_string() + "\n");
  Model& model = read.model;

  const io::TrainTest data = io::fashion_mnist(o.data);
  const Dataset fitted = data.train.take(o.limit);
  const auto show = [&](const char* what, const Model& m) {
    program::print(
        fmt::format("{:<16} {:6.2f} %\n", what,
                    program::percent(train::evaluate(m, data.test).accuracy)));
  };
  show("imported", model);
  train::fit(model, fitted,
             {.epochs = o.epochs,
              .optimizer = train::Adam({.learning_rate = 2e-3f}),
              .schedule = train::cosine()});
  show("trained", model);

  Model int8 = quant::quantize_model(model);
  quant::calibrate(int8, fitted, {.samples = 512});
  show("INT8, calibrated", int8);

  quant::prepare_qat(int8);
  quant::freeze_bn_stats(int8);
  train::fit(int8, fitted,
             {.epochs = 1,
              .optimizer = train::Adam({.learning_rate = 2e-4f}),
              .schedule = train::cosine()});
  show("INT8, fine-tuned", int8);

  // Keeps inputs and outputs of the imported file, with a dynamic batch size.
  read.interface.batch = 0;
  const io::OnnxExportReport file =
      io::export_onnx(int8, out / "int8.onnx", {.interface = read.interface});
  program::print(fmt::format("\n{}: {} nodes, {} Q/DQ pairs, {} bytes\n",
                             (out / "int8.onnx").string(), file.nodes,
                             file.qdq_pairs, file.bytes));
  // Data to compare with another runtime.
  const Batch test = data.test.batch(0, data.test.size());
  io::write_npy(out / "inputs.npy", test.input().transposed({0, 3, 1, 2}));
  io::write_npy(out / "labels.npy", test.label());
  io::write_npy(out / "logits.npy", int8.predict(test.input()));
}

}  // namespace

int main(int argc, char** argv) {
  program::CommandLine command(
      "Convert an ONNX file to INT8 for TensorRT, on Fashion-MNIST.");
  Options o;
  command
      .add("model", o.model, "ONNX file with inputs [N,1,28,28] and ten logits")
      .required();
  command.add("--epochs", o.epochs, 1, 1000,
              "number of float epochs (default: 1)");
  command.add("--limit", o.limit, 1, 60000,
              "number of training images (default: all)");
  command.add("--data", o.data, "folder of the IDX files")
      .type("DIR")
      .show_default();
  command.add("--out", o.out, "output folder").type("DIR").show_default();
  return command.run(argc, argv, [&] { run(o); });
}
