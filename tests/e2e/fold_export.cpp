// fold_export FOLDER: exports layers with batch normalization and zoo networks
// as FOLDER/<name>.onnx and, folded, as FOLDER/<name>.folded.onnx. Names of
// quantized models end in ".int8". FOLDER/<name>.json has inputs and outputs
// before folding. tests/oracle/compare_folds.py compares the files.
#include <exception>
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include <octet/layers/zoo.h>
#include <octet/quant/quant.h>
#include <octet/runtime/error.h>

#include "exported_case.h"
#include "tests/quant/folding.h"

namespace octet {
namespace {

void write_both(const Model& model, const std::filesystem::path& folder,
                const std::string& name) {
  write_case(model, noise_for(model, 4), folder, name);
  io::export_onnx(model, folder / (name + ".folded.onnx"),
                  {.fold_batch_norm = true});
}

void write_network(const std::string& name, const zoo::Options& options,
                   const std::filesystem::path& folder) {
  const Model model = zoo::make(name, options);
  disturb_signs(model);
  write_both(model, folder, name);
  Model quantized = quant::quantize_model(model);
  quant::calibrate(quantized,
                   [&](const Model& m) { (void)m.predict(noise_for(m, 8)); });
  write_both(quantized, folder, name + ".int8");
}

void write_all(const std::filesystem::path& folder) {
  // Removes results of earlier runs.
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  for (const LinearKind& kind : linear_kinds()) {
    const Model model = normalized(kind);
    write_both(model, folder, kind.name);
    write_both(quantized_and_calibrated(model), folder, kind.name + ".int8");
    write_both(quantized_and_calibrated(model, {.narrow_range = true}), folder,
               kind.name + ".per_tensor.int8");
  }
  write_network("resnet8", {}, folder);
  write_network("mobilenet_v1_025", {.input = {40, 32, 3}}, folder);
  write_network("ds_cnn", {}, folder);
  write_network("pippin", {}, folder);
  write_network("mobilenet_v2",
                {.input = {32, 41, 3}, .classes = 10, .alpha = 0.35}, folder);
  write_network("densenet121", {.input = {32, 33, 3}, .classes = 10}, folder);
}

}  // namespace
}  // namespace octet

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: fold_export FOLDER\n");
    return 2;
  }
  try {
    octet::write_all(argv[1]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "fold_export: {}\n", error.what());
    return 1;
  }
  return 0;
}
