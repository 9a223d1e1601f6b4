// octet sensitivity: ranks layers by the accuracy they lose to quantization.
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <octet/io/engine_profile.h>
#include <octet/io/json.h>
#include <octet/layers/detail/model_data.h>
#include <octet/quant/sensitivity.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

#include "../common/hints.h"
#include "../common/program.h"
#include "calibration_options.h"
#include "commands.h"
#include "data_options.h"
#include "loss_options.h"
#include "placement_options.h"
#include "read_model.h"
#include "sensitivity_reference.h"

namespace octet::program {
namespace {

constexpr const char* kSensitivityNotes = R"(
A float model is quantized and calibrated first, as by octet quantize. For
each layer, the model runs with only this layer quantized, and with all layers
quantized but this one. The first line of the output names the main cause.
)";

constexpr const char* kSensitivityExamples = R"(
Examples:
  octet sensitivity model.h5 --data x.npy --labels l.npy
  octet sensitivity model.h5 --data photos/ --bits 4,8 --method max
  octet sensitivity int8.onnx --data x.npy --json
  octet sensitivity int8.onnx --reference model.h5 --data x.npy
  octet sensitivity int8.onnx --data x.npy --profile p.json --layers l.json
)";

struct SensitivityOptions {
  ModelSource model;
  std::string reference;
  DataOptions data;
  PlacementOptions placement;
  CalibrationChoice calibration;
  int64_t measured = 256;
  std::string profile, layers;  // files of trtexec
  bool json = false;
};

Config loss_config(const quant::QuantizationLoss& loss) {
  Config config;
  // JSON cannot represent infinity.
  if (std::isfinite(loss.sqnr)) config.set("sqnr", loss.sqnr);
  if (loss.score) config.set("score", *loss.score);
  return config;
}

Config channel_config(const quant::ChannelSensitivity& channel) {
  Config config;
  config.set("channel", channel.channel)
      .set("range", channel.range)
      .set("tensor_range", channel.tensor_range);
  if (std::isfinite(channel.sqnr)) config.set("sqnr", channel.sqnr);
  return config;
}

Config sensitivity_config(const quant::Sensitivity& s) {
  Config::List layers, tensors;
  for (const quant::LayerSensitivity& layer : s.layers) {
    Config entry;
    entry.set("layer", layer.layer)
        .set("alone", loss_config(layer.alone))
        .set("without", loss_config(layer.without));
    const auto set = [&](const char* name, std::optional<double> sqnr) {
      if (sqnr && std::isfinite(*sqnr)) entry.set(name, *sqnr);
    };
    set("weights", layer.weights);
    set("activations", layer.activations);
    set("loss_rise", layer.loss_rise);
    if (!layer.tensor.empty()) entry.set("tensor", layer.tensor);
    if (layer.weight_channel) {
      entry.set("weight_channel", channel_config(*layer.weight_channel));
    }
    entry.set("equalizable", layer.equalizable);
    layers.push_back(std::move(entry));
  }
  for (const quant::TensorSensitivity& tensor : s.tensors) {
    Config entry;
    entry.set("tensor", tensor.quantizer).set("clipped", tensor.clipped);
    if (std::isfinite(tensor.sqnr)) entry.set("sqnr", tensor.sqnr);
    if (tensor.worst_channel) {
      entry.set("worst_channel", channel_config(*tensor.worst_channel));
    }
    tensors.push_back(std::move(entry));
  }
  Config config;
  config.set("blame", s.blame())
      .set("samples", s.samples)
      .set("quantized", loss_config(s.all));
  if (s.float_score) config.set("float", *s.float_score);
  config.set("layers", layers).set("tensors", tensors);
  return config;
}

Config times_config(const io::LayerTimes& times) {
  Config::List layers;
  for (const io::LayerTime& time : times.layers) {
    layers.push_back(Config()
                         .set("layer", time.layer)
                         .set("latency_ms", time.milliseconds)
                         .set("type", time.type));
  }
  return Config()
      .set("latency_ms", times.milliseconds)
      .set("conversions_ms", times.conversions)
      .set("unknown_ms", times.unknown)
      .set("layers", std::move(layers));
}

void sensitivity(SensitivityOptions o) {
  constexpr int64_t kUsual = 1024;
  io::EngineProfile profile;
  if (!o.profile.empty()) {
    profile = io::read_engine_profile(o.profile, o.layers);
  }
  check_method(o.calibration);
  warn_of_untrained(o.model);
  Model model = read_model(o.model);
  std::optional<Model> reference;
  if (!o.reference.empty()) {
    if (!quant::is_quantized(model)) {
      throw UnsupportedError(
          "conflicting_options", "--reference",
          "applies to quantized models; a float model is its own reference");
    }
    reference = read_model(beside(o.model, o.reference));
  }
  o.data.labels_optional = true;
  const DataTarget target = target_of(model, o.model);
  const io::OpenedData opened = open_data(o.data, target);
  check_classes(model, o.model, opened);
  const Dataset data = data_for("sensitivity", model, opened.train);
  if (!o.json) print(describe("samples", data, opened, o.data, target));
  const bool quantized_before = quant::is_quantized(model);
  if (!quantized_before) {
    choose_policy(o.placement);
    if (o.calibration.samples == 0) {
      o.calibration.samples = std::min(kUsual, data.size());
    }
    model = quantized(model, o.placement);
    (void)calibrate(model, data, o.calibration, !o.placement.bits.empty());
  } else {
    check_no_placement(o.placement, "the model is already quantized");
  }
  if (quantized_before && is_onnx(o.model.what) && o.reference.empty()) {
    warn("rounding_excluded", "sensitivity",
         "weights of an ONNX file are already rounded, so their rounding error "
         "is not included. Hint: set --reference to the float model");
  }
  const Dataset evaluation_data =
      opened.test ? data_for("sensitivity", model, *opened.test) : data;
  quant::SensitivityOptions options{.samples = o.measured};
  const std::vector<TensorSpec> labels = evaluation_data.label_specs();
  if (model.outputs().size() == 1 && labels.size() == 1 &&
      labels[0].dtype == DType::i64 && model.outputs()[0].shape()[-1] == 1) {
    options.score = score_of(measured_by({}, model, evaluation_data));
  }
  const quant::Sensitivity result =
      reference
          ? sensitivity_beside(*reference, model, evaluation_data, options)
          : quant::sensitivity(model, evaluation_data, options);
  Config config = sensitivity_config(result);
  std::string text = on_command_line(result.to_string());
  if (!o.profile.empty()) {
    const io::LayerTimes times = io::layer_times(profile, model);
    config.set("latency", times_config(times));
    text += "\n" + times.to_string();
  }
  print(o.json ? io::to_json(config) + "\n" : text);
}

}  // namespace

void add_sensitivity(CommandLine& program) {
  const auto options = std::make_shared<SensitivityOptions>();
  SensitivityOptions& o = *options;
  Command command = program.add_command(
      "sensitivity", "Rank layers by the accuracy they lose to quantization");
  add_model(command, o.model, kModelHelp);
  add_data_options(command, o.data);
  command.begin_group("Analysis");
  command
      .add("--reference", o.reference,
           "float model of a quantized ONNX file, to include weight rounding")
      .type("FLOAT");
  add_calibration_options(command, o.calibration);
  command.begin_group("Analysis");
  command
      .add("--measured", o.measured, 1, int64_t{1} << 31,
           "number of random samples for the measurement, four runs per layer")
      .show_default();
  add_placement_options(command, o.placement);
  command.begin_group("Latency");
  const Option profile =
      command
          .add("--profile", o.profile,
               "also list the latency of each layer in a TensorRT engine of "
               "the model: file of trtexec --exportProfile")
          .type("FILE.json");
  command
      .add("--layers", o.layers,
           "file of trtexec --exportLayerInfo --profilingVerbosity=detailed, "
           "which names the ONNX nodes of fused layers")
      .type("FILE.json")
      .needs(profile);
  command.begin_group("Output");
  command.add_flag("--json", o.json, "print JSON");
  command.set_footer((std::string(kSensitivityNotes) + kDataHelp + kImageHelp +
                      kSensitivityExamples)
                         .c_str());
  command.when_chosen([options] { sensitivity(*options); });
}

}  // namespace octet::program
