#include "quantize_job.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/io/detail/checks.h>
#include <octet/io/tflite.h>
#include <octet/layers/detail/model_data.h>
#include <octet/quant/post_training.h>
#include <octet/runtime/error.h>

#include "../common/program.h"
#include "io_names.h"
#include "quantization_hints.h"
#include "tflite_output.h"
#include "training_options.h"
#include "write_results.h"

namespace octet::program {
namespace {

/// Returns the model with Q/DQ placed by the options; with fixed weight scales
/// if the recipe rounds weights. --mean-bits assigns 8-bit weights to
/// sensitive layers and 4-bit weights to others.
Model placed(const Model& model, const Dataset& data, const QuantizeOptions& o,
             const quant::Recipe& recipe, std::string& report,
             Config& figures) {
  if (o.mean_bits == 0) {
    if (recipe.rounding == quant::WeightRounding::nearest) {
      return quantized(model, o.placement);
    }
    return quantized(model, o.placement,
                     [](const Model&, quant::QuantizeOptions options) {
                       options.weight.rule = quant::ScaleRule::fixed;
                       return options;
                     });
  }
  if (!o.placement.bits.empty()) {
    throw UnsupportedError("conflicting_options", "--mean-bits",
                           "cannot be combined with --bits");
  }
  if (!policy_of("--policy", o.placement.policy)) {
    throw UnsupportedError(
        "conflicting_options", "--mean-bits",
        "needs --policy tensorrt or toolkit, got " + o.placement.policy);
  }
  PlacementOptions placement = o.placement;
  placement.by_default = false;
  return quantized(
      model, placement, [&](const Model& m, quant::QuantizeOptions options) {
        const quant::MixedPrecision mixed = quant::auto_mixed_precision(
            m, data, {.mean_bits = o.mean_bits, .quantize = options});
        report += mixed.to_string() + "\n";
        Config bits(Config::Object{});
        for (const quant::MixedPrecisionLayer& layer : mixed.layers) {
          bits.set(layer.layer, int64_t{layer.bits});
        }
        figures.set("mean_bits", mixed.mean_bits).set("bits", std::move(bits));
        options.bits = mixed.bits();
        options.weight.rule = quant::ScaleRule::fixed;
        return options;
      });
}

/// Returns the calibration samples.
Dataset calibration_data(const Dataset& all,
                         const std::vector<std::string>& files,
                         QuantizeOptions& o, Config& figures) {
  if (o.keep_unusual) {
    o.calibration.checked = true;
    const int64_t samples = std::exchange(o.calibration.samples, 0);
    return samples > 0 ? all.sample(samples) : all;
  }
  // With --pipeline, --samples applies to its methods.
  CalibrationChoice everything;
  quant::CheckedSamples checked =
      usual_samples(all, o.pipeline ? everything : o.calibration, files);
  Config::List ignored;
  for (const quant::UnusualSample& sample : checked.unusual) {
    Config entry;
    entry.set("index", sample.index)
        .set("input", sample.input)
        .set("reason", sample.reason);
    if (!files.empty()) {
      entry.set("file", files[static_cast<size_t>(sample.index)]);
    }
    ignored.push_back(std::move(entry));
  }
  figures.set("ignored_samples", std::move(ignored));
  return std::move(checked.usual);
}

/// Labels serve evaluation, which supports classes only.
void check_labels(const QuantizeOptions& o, const Dataset& data) {
  if (o.data.labels.empty() || data.label_specs().empty()) return;
  for (const TensorSpec& label : data.label_specs()) {
    if (label.dtype == DType::i64) continue;
    throw FormatError(
        "dtype_mismatch", "--labels",
        fmt::format(
            "'{}' must be class labels int64 [N], got {}{}",
            fmt::join(o.data.labels, "', '"), type_name(label.dtype),
            io::labels_hint(data.label_specs().size() == 1 ? data.labels()
                                                           : Tensor())));
  }
}

/// Moves the share of --validation from the training to the test part.
void hold_out(QuantizeOptions& o, const DataTarget& target,
              io::OpenedData& opened) {
  if (o.validation == kHeldOutUnlessTest) {
    o.validation = opened.test ? "" : "0.25";
  }
  if (o.validation.empty()) return;
  TrainingParts parts = parts_of(
      opened, {.validation = o.validation, .seed = o.seed}, o.data, target);
  if (!parts.validation) return;
  opened.train = std::move(parts.training);
  opened.test = std::move(parts.validation);
  opened.files.clear();  // of all samples
}

io::OnnxExportOptions export_names(const Model& written,
                                   const QuantizeOptions& o,
                                   const QuantizeInputs& inputs) {
  io::OnnxExportOptions names = names_of(o.model, written);
  names.preprocess = inputs.preprocess;
  names.resize = resize_to_keep(inputs.opened, o.data, inputs.target);
  const std::vector<std::string>& classes = inputs.opened.classes;
  if (std::ssize(classes) == inputs.model.outputs()[0].shape()[-1]) {
    names.classes = classes;
  }
  return names;
}

/// Quantizes by the post-training methods of the options.
Model by_recipe(const Model& model, const Dataset& data,
                const QuantizeOptions& o, std::string& report,
                Config& figures) {
  quant::Recipe recipe = recipe_of(o.recipe, o.calibration);
  recipe.format = o.placement.format;
  if (recipe.equalize) warn_unless_equalizable(model, "--equalize");
  quant::RecipeModel made = quant::quantize_with(
      model, data, recipe, recipe_options(o, data, report, figures));
  report += calibration_text(made.model, made.calibration, o.calibration,
                             data.size(), o.few_bits());
  return std::move(made.model);
}

/// Number format of recipes with 16-bit activations, for .tflite files.
constexpr const char* kInt16 = "int16";

}  // namespace

bool QuantizeOptions::few_bits() const {
  return (!placement.bits.empty() && !placement.int16()) || mean_bits > 0 ||
         format_of(placement) == Format::w4a16;
}

QuantizeInputs open_inputs(QuantizeOptions& o, Config& figures) {
  constexpr int64_t kUsual = 1024;
  check_output(o.output);
  check_method(o.calibration);
  const bool tflite = is_tflite(o.output);
  if (!tflite) o.file.layout = o.data.layout;
  choose_format(o.output, o.file, &o.placement);
  if (!tflite) (void)onnx_options(o.file, {});
  choose_policy(o.placement, o.file.target);
  check_reader(o.placement, o.file.target);
  check_engine_options(o.engine);
  warn_of_untrained(o.model);
  if (o.drop_quantizers) o.model.quantizers = ModelSource::Quantizers::drop;
  Model model = read_model(o.model);
  DataTarget target = target_of(model, o.model);
  io::OpenedData opened = open_data(o.data, target);
  std::string preprocess = preprocess_to_keep(opened, o.data, target);
  const std::string takes = preprocess.empty() ? target.takes : preprocess;
  (void)as_written(model.clone(), o.file, takes);  // reports errors early
  check_classes(model, o.model, opened);
  check_labels(o, opened.train);
  hold_out(o, target, opened);
  // A .npy file is used completely.
  if (o.calibration.samples == 0 && opened.kind != "a .npy file" &&
      opened.kind != ".npy files") {
    o.calibration.samples = std::min(kUsual, opened.train.size());
  }
  Dataset all = data_for("quantize", model, opened.train);
  if (!o.json) print(describe("samples", all, opened, o.data, target));
  Dataset data = calibration_data(all, opened.files, o, figures);
  return {std::move(model),
          std::move(target),
          std::move(opened),
          std::move(preprocess),
          takes,
          std::move(all),
          std::move(data)};
}

quant::RecipeOptions recipe_options(const QuantizeOptions& o,
                                    const Dataset& data, std::string& report,
                                    Config& figures) {
  quant::RecipeOptions options;
  options.place = [&](const Model& model, const quant::Recipe& recipe) {
    return placed(model, data, with_recipe(o, recipe), recipe, report, figures);
  };
  if (o.few_bits()) options.weights = quant::WeightRange::mse;
  options.methods.seed = static_cast<uint64_t>(o.seed);
  options.check_samples = false;
  return options;
}

bool may_equalize(const QuantizeOptions& o) {
  return !o.recipe.any() && !o.recipe.no_equalize && !o.pipeline &&
         o.mean_bits == 0 && o.calibration.method == "auto" &&
         format_of(o.placement) == Format::int8;
}

Model quantized_by_recipe(const QuantizeOptions& o, const QuantizeInputs& in,
                          std::string& report, Config& figures) {
  Model int8 = by_recipe(in.model, in.calibration, o, report, figures);
  if (may_equalize(o)) {
    report += use_equalized(in.model, int8, in.calibration, figures, [&] {
      return calibrated_equalized(in.model, in.calibration,
                                  {.placement = o.placement,
                                   .calibration = o.calibration,
                                   .few_bits = o.few_bits()});
    });
  }
  return int8;
}

std::string exact_layer(const std::string& name) {
  std::string result;
  for (const char c : name) {
    if (std::string_view("\\.^$|()[]{}*+?").find(c) != std::string_view::npos) {
      result += '\\';
    }
    result += c;
  }
  return result;
}

QuantizeOptions with_recipe(QuantizeOptions o, const quant::Recipe& recipe) {
  using quant::WeightRounding;
  o.recipe = {.equalize = recipe.equalize,
              .no_equalize = !recipe.equalize,
              .bias_correction = recipe.correct_biases,
              .second_order = recipe.rounding == WeightRounding::second_order,
              .adaround = recipe.rounding == WeightRounding::adaround,
              .reconstruct = recipe.rounding == WeightRounding::blocks};
  o.calibration.method = quant::to_config(recipe).at("calibration").as_string();
  if (recipe.calibration == quant::Calibration::percentile) {
    // The decimal number that rounds to the float.
    o.calibration.percentile = std::stod(fmt::format("{}", recipe.percentile));
  }
  for (const std::string& layer : recipe.float_layers) {
    o.placement.excluded.push_back(exact_layer(layer));
  }
  if (recipe.format == kInt16) {
    o.placement.bits = "8,16";
  } else if (recipe.format != o.placement.format) {
    o.placement.format = recipe.format;
    if (o.placement.by_default) o.placement.policy.clear();
    choose_policy(o.placement, o.file.target);
  }
  return o;
}

Written write_quantized(const Model& int8, const QuantizeOptions& o,
                        const QuantizeInputs& inputs) {
  const Model model = as_written(int8.clone(), o.file, inputs.takes);
  const io::OnnxExportOptions names = export_names(model, o, inputs);
  Written written;
  if (is_tflite(o.output)) {
    const io::TfliteReport report =
        io::export_tflite(model, o.output, tflite_options(o.file, names));
    add_report(written.figures, report);
    written.text = to_text(o.output, report);
    return written;
  }
  const io::OnnxExportOptions form = onnx_options(o.file, names);
  const io::OnnxExportReport file = io::export_onnx(model, o.output, form);
  written.figures.set("nodes", file.nodes)
      .set("qdq_pairs", file.qdq_pairs)
      .set("bytes", file.bytes);
  written.text = fmt::format("{}: {} nodes, {} Q/DQ pairs, {} bytes\n",
                             o.output, file.nodes, file.qdq_pairs, file.bytes) +
                 write_engine_files(o.output, form.target, o.engine,
                                    o.file.from_bytes ? nullptr : &inputs.all,
                                    o.model.limits());
  return written;
}

int64_t quantized_bytes(const Model& int8, const QuantizeOptions& o,
                        const QuantizeInputs& inputs) {
  const Model model = as_written(int8.clone(), o.file, inputs.takes);
  const io::OnnxExportOptions names = export_names(model, o, inputs);
  if (is_tflite(o.output)) {
    return std::ssize(
        io::to_tflite(model, tflite_options(o.file, names)).bytes);
  }
  return io::to_onnx(model, onnx_options(o.file, names)).report.bytes;
}

}  // namespace octet::program
