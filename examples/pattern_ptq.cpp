// Post-training quantization by patterns: transform, insert_qdq, calibrate,
// export. Weights are random: the program demonstrates placement, not accuracy.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <octet/octet.h>

#include "common/command_line.h"
#include "common/program.h"

using namespace octet;

namespace {

using program::print;

struct Options {
  std::string network = "resnet50";
  int64_t size = 64;
  int64_t batches = 32;
  int64_t batch = 4;
  std::string images;  // folder; empty: noise
  std::vector<std::string> keep_float;
  std::string out = "build/out/pattern_ptq.onnx";
};

void declare(program::Command& command, Options& o) {
  command.add("network", o.network, "zoo network, see octet inspect zoo:")
      .show_default();
  const auto number = [&](const char* name, int64_t& value, int64_t most,
                          const char* help) {
    command.add(name, value, 1, most, help);
  };
  number("--size", o.size, 4096, "height and width of the input (default: 64)");
  number("--batches", o.batches, 1 << 20,
         "number of calibration batches (default: 32)");
  number("--batch", o.batch, 1 << 20, "batch size (default: 4)");
  command
      .add("--images", o.images, "folder of images by class (default: noise)")
      .type("DIR");
  command.add("--keep-float", o.keep_float, "layer to keep in float")
      .type("LAYER");
  command.add("--out", o.out, "output file").type("FILE").show_default();
}

Dataset images(const Options& o) {
  const int64_t n = o.batches * o.batch;
  if (!o.images.empty()) {
    const io::ImageFolder folder =
        io::load_image_folder(o.images, {.size = {o.size, o.size}});
    return folder.data.take(std::min(n, folder.data.size()));
  }
  Tensor noise({n, o.size, o.size, 3});
  Rng(1).fill_uniform(noise, 0, 1);
  return Dataset(noise, Tensor::zeros({n}, DType::i64));
}

void run(const Options& o) {
  // 1. Load and match.
  const Model model = zoo::make(o.network, {.input = {o.size, o.size, 3}});
  const Dataset data = images(o);
  quant::TransformResult result =
      quant::transform(model, quant::tensorrt_patterns());
  for (const std::string& layer : o.keep_float) {
    result.match(layer).apply = false;
  }
  print(result.report.to_string());

  // 2. Insert Q/DQ.
  Model quantized =
      quant::insert_qdq(result.model, result.matches,
                        {.activation = quant::activation_quantizer(),
                         .weight = quant::weight_quantizer(),
                         .skip_weight_quant_for = {"LayerNormalization"}});
  print(fmt::format("quantizers: {} of activations, {} of weights\n",
                    quant::activation_quantizers(quantized).size(),
                    quant::weight_quantizers(quantized).size()));

  // 3. Calibrate.
  quant::calibrate(quantized, [&](const Model& m) {
    for (int64_t at = 0; at < data.size(); at += o.batch) {
      const int64_t count = std::min(o.batch, data.size() - at);
      (void)m.predict(data.batch(at, count).input());
    }
  });

  // 4. Export.
  const std::filesystem::path file = o.out;
  if (file.has_parent_path()) ensure_writable_folder(file.parent_path());
  const io::OnnxExportReport report = io::export_onnx(
      quantized, file, {.opset = 13, .description = o.network + ", INT8"});
  print(
      fmt::format("{}: {} Q/DQ pairs, {} nodes, {:.1f} MB\n"
                  "compile with: trtexec --onnx={} --best\n",
                  file.string(), report.qdq_pairs, report.nodes,
                  static_cast<double>(report.bytes) / 1e6, file.string()));
}

}  // namespace

int main(int argc, char** argv) {
  program::CommandLine command(
      "Quantize a zoo network by patterns and export it for TensorRT.");
  Options options;
  declare(command, options);
  return command.run(argc, argv, [&] { run(options); });
}
