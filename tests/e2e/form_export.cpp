// form_export FOLDER: exports networks with every option of OnnxExportOptions,
// as FOLDER/<name>.onnx without options and FOLDER/<name>.<form>.onnx;
// quantized networks are <name>.int8. FOLDER/<name>.json has inputs.
// tests/oracle/compare_forms.py runs the files.
#include <exception>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/layers.h>
#include <octet/layers/zoo.h>
#include <octet/quant/quant.h>
#include <octet/runtime/error.h>

#include "../disturb.h"
#include "../quant/sequence_network.h"
#include "exported_case.h"

namespace octet {
namespace {

constexpr int64_t kSamples = 3;

using Forms = std::vector<std::pair<std::string, io::OnnxExportOptions>>;

Forms forms(bool quantized) {
  Forms result;
  for (int opset = 14; opset <= 21; ++opset) {
    result.emplace_back(fmt::format("opset{}", opset),
                        io::OnnxExportOptions{.opset = opset});
  }
  result.emplace_back(
      "float16",
      io::OnnxExportOptions{
          .opset = 19, .weights = io::OnnxWeights::int8, .float16 = true});
  result.emplace_back("batch", io::OnnxExportOptions{.batch = kSamples});
  if (quantized) {
    constexpr auto kInt8 = io::OnnxWeights::int8;
    result.emplace_back("int8_weights",
                        io::OnnxExportOptions{.weights = kInt8});
    result.emplace_back("int8_weights_opset21",
                        io::OnnxExportOptions{.opset = 21, .weights = kInt8});
  }
  return result;
}

void write_forms(const Model& model, const std::vector<Tensor>& x,
                 const std::filesystem::path& folder, const std::string& name,
                 bool quantized) {
  write_case(model, x, folder, name);
  for (const auto& [form, options] : forms(quantized)) {
    io::export_onnx(model, folder / fmt::format("{}.{}.onnx", name, form),
                    options);
  }
}

void write_network(const Model& model, const std::filesystem::path& folder,
                   const std::string& name) {
  disturb(model);
  const std::vector<Tensor> x = noise_for(model, kSamples);
  write_forms(model, x, folder, name, false);
  Model quantized = quant::quantize_model(model);
  quant::calibrate(quantized, [&](const Model& m) { (void)m.predict(x); });
  write_forms(quantized, x, folder, name + ".int8", true);
}

/// Weights whose scales are out of range for float16, inputs in the range of
/// bytes, and a channel with negligible weights.
void write_small_scales(const std::filesystem::path& folder) {
  constexpr int kChannels = 8;
  const SymbolicTensor input = octet::input({12, 10, 3});
  const SymbolicTensor y = Conv2D(
      {.filters = kChannels, .kernel_size = {3, 3}, .name = "first"})(input);
  const Model model(input,
                    Conv2D({.filters = 4, .kernel_size = {3, 3}})(ReLU()(y)));
  disturb(model);
  for (const Parameter& parameter : model.layer("first").parameters()) {
    const auto values = parameter.variable.mutable_value();
    size_t i = 0;
    for (float& value : values) {
      value *= i++ % kChannels == 0 ? 1e-12f : 1e-3f;
    }
  }
  std::vector<Tensor> x = noise_for(model, kSamples);
  for (float& value : x[0].f32()) value *= 255;
  Model quantized = quant::quantize_model(model);
  quant::calibrate(quantized, [&](const Model& m) { (void)m.predict(x); });
  write_forms(quantized, x, folder, "small_scales.int8", true);
}

/// Large biases of small weights before quantizers: divided by both scales,
/// they exceed float16.
void write_biases(const std::filesystem::path& folder) {
  const SymbolicTensor input = octet::input({12, 10, 3});
  const auto conv = [](const SymbolicTensor& x) {
    return Conv2D({.filters = 4, .kernel_size = {3, 3}})(x);
  };
  const Model model(input, conv(ReLU()(conv(conv(input)))));
  disturb(model);
  for (const Parameter& parameter : model.parameters()) {
    const float factor = parameter.name == "kernel" ? 0.5f : 5.0f;
    for (float& value : parameter.variable.mutable_value()) value *= factor;
  }
  std::vector<Tensor> x = noise_for(model, kSamples);
  for (float& value : x[0].f32()) value *= 0.1f;
  quant::PatternPlacement placed =
      quant::place_by_patterns(model, quant::onnxruntime_patterns(), {},
                               quant::onnxruntime_conversions());
  Model quantized = quant::apply(placed.placement.plan, placed.model);
  quant::calibrate(quantized, [&](const Model& m) { (void)m.predict(x); });
  write_forms(quantized, x, folder, "biases.int8", true);
}

void write_all(const std::filesystem::path& folder) {
  // Removes results of earlier runs.
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::vector<std::pair<std::string, zoo::Options>> networks = {
      {"lenet", {}},
      {"resnet8", {.input = {33, 32, 3}}},
      {"mobilenet_v2", {.input = {32, 41, 3}, .classes = 10, .alpha = 0.35}},
      {"efficientnet_b0", {.input = {33, 40, 3}, .classes = 10, .alpha = 0.25}},
      {"unet", {.input = {16, 24, 3}, .classes = 4}},
      {"vit_tiny", {.input = {32, 48, 3}, .classes = 10}},
      {"pippin", {}},
  };
  for (const auto& [name, options] : networks) {
    with_context(
        [&] { return "in network " + name; },
        [&] { write_network(zoo::make(name, options), folder, name); });
  }
  write_network(sequence_network(true), folder, "sequence");
  write_small_scales(folder);
  write_biases(folder);
  fmt::print("{} networks written\n", networks.size() + 3);
}

}  // namespace
}  // namespace octet

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: form_export FOLDER\n");
    return 2;
  }
  try {
    octet::write_all(argv[1]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "form_export: {}\n", error.what());
    return 1;
  }
  return 0;
}
