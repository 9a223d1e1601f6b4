// zoo_export FOLDER: exports a network of each zoo family on small images, and
// a sequence network, as FOLDER/<name>.onnx with the outputs of the layers and
// of the file in FOLDER/<name>.json. FOLDER/<name>.int8.onnx is quantized,
// calibrated and trained for a step; FOLDER/<name>.patterns.int8.onnx is placed
// by patterns, FOLDER/<name>.openvino.int8.onnx is for OpenVINO.
// tests/oracle/compare_zoo.py and compare_openvino.py run the files.
#include <cstdint>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/zoo.h>
#include <octet/quant/quant.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/train/optimizer.h>

#include "../disturb.h"
#include "../quant/sequence_network.h"
#include "exported_case.h"

namespace octet {
namespace {

struct Family {
  std::string name;
  zoo::Options options;
  bool by_patterns = false;
  bool for_openvino = false;  // networks with Concat
};

// Smallest inputs of each topology, with unequal sides if possible.
std::vector<Family> families() {
  return {
      {"lenet", {}},
      {"resnet8", {}, true},
      {"resnet20", {.input = {20, 16, 3}}},
      {"resnet18", {.input = {40, 32, 3}, .classes = 10}, true},
      {"resnet50", {.input = {33, 32, 3}, .classes = 10}},
      {"resnet50_v2", {.input = {32, 35, 3}, .classes = 10}},
      {"mobilenet", {.input = {33, 40, 3}, .classes = 10, .alpha = 0.25}},
      {"mobilenet_v1_025", {.input = {40, 32, 3}}},
      {"mobilenet_v2",
       {.input = {32, 41, 3}, .classes = 10, .alpha = 0.35},
       true},
      {"ds_cnn", {}, true},
      {"inception_v3", {.input = {75, 76, 3}, .classes = 10}, false, true},
      {"efficientnet_b0", {.input = {33, 40, 3}, .classes = 10}},
      {"densenet121", {.input = {32, 33, 3}, .classes = 10}, false, true},
      {"unet", {.input = {16, 24, 3}, .classes = 4}, true, true},
      {"vit_tiny", {.input = {32, 48, 3}, .classes = 10}, true},
      {"lobelia", {}},
      {"lotho", {}},
      {"merry", {}},
      {"pippin", {}},
      {"sam", {.input = {20, 24, 3}}},
  };
}

void train_one_step(Model& model, const Tensor& x) {
  train::SGD optimizer({.learning_rate = 1e-3f});
  std::vector<Variable> parameters;
  for (const Parameter& p : model.parameters()) {
    if (p.trainable) parameters.push_back(p.variable);
  }
  optimizer.attach(parameters);
  const Variable y = model(Variable(x), Mode::training);
  scale_shift(regularization_loss(y, 0, 1),
              1 / static_cast<float>(y.shape().size()))
      .backward();
  optimizer.step();
}

// Includes small matrix products, which are skipped by default.
void write_by_patterns(const Model& model, const std::vector<Tensor>& x,
                       const std::filesystem::path& folder,
                       const std::string& name) {
  quant::TransformResult result = quant::transform(model);
  for (quant::PatternMatch& match : result.matches) match.apply = true;
  Model quantized = quant::insert_qdq(result.model, result.matches);
  quant::calibrate(quantized, [&](const Model& m) { (void)m.predict(x); });
  write_case(quantized, x, folder, name + ".patterns.int8");
}

// As `octet quantize --target openvino` does for networks with Concat.
void write_for_openvino(const Model& model, const std::vector<Tensor>& x,
                        const std::filesystem::path& folder,
                        const std::string& name) {
  quant::InsertQdqOptions config;
  config.activation.is_signed = false;
  std::vector<quant::Pattern> patterns = quant::onnxruntime_patterns();
  patterns.push_back(
      {.name = "ConvTranspose",
       .steps = {{.classes = {"Conv2DTranspose"}}},
       .qdq_points = {quant::PatternPoint::input, quant::PatternPoint::output},
       .rationale = "integers"});
  const quant::PatternPlacement placed = quant::place_by_patterns(
      model, patterns, config, quant::onnxruntime_conversions());
  Model quantized = quant::apply(placed.placement.plan, placed.model);
  quant::calibrate(quantized, [&](const Model& m) { (void)m.predict(x); });
  write_case(quantized, x, folder, name + ".openvino.int8",
             io::OnnxExportOptions::for_target(io::Target::openvino));
}

void write_network(const Model& model, const std::string& name,
                   bool by_patterns, bool for_openvino,
                   const std::filesystem::path& folder) {
  disturb(model);
  const std::vector<Tensor> x = noise_for(model, 8);
  write_case(model, x, folder, name);
  if (by_patterns) write_by_patterns(model, x, folder, name);
  if (for_openvino) write_for_openvino(model, x, folder, name);

  Model quantized = quant::quantize_model(model);
  quant::calibrate(quantized, [&](const Model& m) { (void)m.predict(x); });
  quant::prepare_qat(quantized);
  train_one_step(quantized, x[0]);
  write_case(quantized, x, folder, name + ".int8");
}

void write_all(const std::filesystem::path& folder) {
  // Removes results of earlier runs.
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  for (const Family& family : families()) {
    with_context([&] { return "in network " + family.name; },
                 [&] {
                   write_network(zoo::make(family.name, family.options),
                                 family.name, family.by_patterns,
                                 family.for_openvino, folder);
                 });
  }
  write_network(sequence_network(true), "sequence", true, false, folder);
  fmt::print("{} networks written\n", families().size() + 1);
}

}  // namespace
}  // namespace octet

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: zoo_export FOLDER\n");
    return 2;
  }
  try {
    octet::write_all(argv[1]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "zoo_export: {}\n", error.what());
    return 1;
  }
  return 0;
}
