// load_tflite(): the float model, then quantizers with the scales of the file.
#include <map>
#include <string>

#include <fmt/format.h>

#include <octet/io/tflite.h>
#include <octet/quant/quantize_model.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "importer.h"

namespace octet::io {
namespace {

using tflite::FileQuant;
using tflite::Importer;

// Index of the file's tensor with the parameters of a point, or -1.
int32_t tensor_of(const quant::QdqPoint& point, const Model& model,
                  const Importer& file) {
  const auto output = file.outputs().find(point.layer);
  if (point.site.kind == quant::SiteKind::output || point.rule == "T05") {
    return output == file.outputs().end() ? -1 : output->second;
  }
  for (const auto& node : model.nodes()) {
    if (node->layer->name() != point.layer) continue;
    const auto index = static_cast<size_t>(point.site.index);
    const std::string& source = node->inputs.at(index).node->layer->name();
    const auto input = file.inputs().find(source);
    if (input != file.inputs().end()) return input->second;
    const auto produced = file.outputs().find(source);
    return produced == file.outputs().end() ? -1 : produced->second;
  }
  return -1;
}

quant::QuantizerConfig config_of(const FileQuant& quant,
                                 const quant::QuantizerConfig& placed) {
  quant::QuantizerConfig config = placed;
  if (config.constant_scale == quant.scales[0]) return config;
  config.constant_scale = 0;
  config.rule = quant::ScaleRule::fixed;
  config.bits = quant.int16 ? 16 : 8;
  config.is_signed = quant.int16;
  config.asymmetric = !quant.int16;
  config.zero_point = quant.int16 ? 0 : quant.zero_point + 128;
  return config;
}

// The placement of Policy::tflite with the file's parameters. Points without a
// quantized tensor are left out.
Model with_quantizers(const Model& model, const Importer& file) {
  const quant::QuantizeOptions options{
      .policy = quant::Policy::tflite,
      .activation = {.bits = file.is_int16() ? 16 : 8},
      .weight = {.narrow_range = true,
                 .per_channel = true,
                 .rule = quant::ScaleRule::fixed}};
  quant::QdqPlan plan = quant::place(model, options).plan;
  std::map<std::string, FileQuant> parameters;  // by group
  std::erase_if(plan.points, [&](quant::QdqPoint& point) {
    if (point.site.kind == quant::SiteKind::weight) {
      const auto found =
          file.weight_scales().find({point.layer, point.site.parameter});
      return found == file.weight_scales().end() || found->second.empty();
    }
    const int32_t tensor = tensor_of(point, model, file);
    const FileQuant quant = tensor < 0 ? FileQuant() : file.quant(tensor);
    if (quant.scales.empty()) return true;
    const auto [known, added] = parameters.emplace(point.group, quant);
    if (!added && (known->second.scales != quant.scales ||
                   known->second.zero_point != quant.zero_point ||
                   known->second.int16 != quant.int16)) {
      // Scales that differ in the file stay different.
      point.group = fmt::format("{}/{}", point.layer, to_string(point.site));
      parameters[point.group] = quant;
    }
    point.config = config_of(quant, point.config);
    return false;
  });
  Model result = quant::apply(plan, model);
  for (const auto& quantizer : quant::quantizers(result)) {
    const auto found = parameters.find(quantizer->name());
    if (found == parameters.end()) continue;
    quantizer->set_scale(found->second.scales[0]);
  }
  for (const auto& layer : result.layers()) {
    const auto* wrapper = quant::as_wrapper(*layer);
    if (wrapper == nullptr) continue;
    for (const quant::PlacedQuantizer& weight : wrapper->weights()) {
      weight.quantizer->set_scales(file.weight_scales().at(
          {wrapper->inner().name(), weight.site.parameter}));
    }
  }
  return result;
}

}  // namespace

Model from_tflite(const std::string& bytes,
                  const TfliteImportOptions& options) {
  Importer importer(tflite::parse_tflite(bytes));
  Model model = importer.run();
  if (options.drop_quantizers) return model;
  importer.expect_no_uint8();
  if (!importer.is_quantized()) return model;
  return with_quantizers(model, importer);
}

Model load_tflite(const std::filesystem::path& path,
                  const TfliteImportOptions& options) {
  return with_context(
      [&] { return fmt::format("in file '{}'", path.string()); },
      [&] { return from_tflite(read_file(path), options); });
}

}  // namespace octet::io
