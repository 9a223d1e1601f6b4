#include "qat_job.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/io/model_file.h>
#include <octet/io/onnx.h>
#include <octet/layers/detail/model_data.h>
#include <octet/quant/calibrate.h>
#include <octet/quant/optimize.h>
#include <octet/quant/post_training.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>
#include <octet/train/callback.h>

#include "../common/program.h"
#include "batch_statistics.h"
#include "choice.h"
#include "class_order.h"
#include "io_names.h"
#include "quantization_hints.h"
#include "tflite_output.h"
#include "transfer_options.h"

namespace octet::program {
namespace {

int64_t epochs_of(const QatOptions& o, const train::QatPreset& preset) {
  return o.training.epochs > 0 ? o.training.epochs
                               : preset.epochs_of(o.trained_epochs);
}

/// Returns whether batch normalization statistics stay frozen. At a
/// user-defined learning rate they follow the weights, unless re-estimated
/// statistics make the calibrated model worse.
bool freezes_statistics(const QatOptions& o, const train::QatPreset& preset,
                        const Model& calibrated, const Dataset& training,
                        const Measured& by) {
  constexpr int64_t kMostSamples = 2048;
  if (o.freeze_batch_norm >= 0) return o.freeze_batch_norm == 0;
  if (preset.freeze_batch_norm && o.training.rate == 0) return true;
  return reestimation_costs(calibrated, training.sample(kMostSamples), by, {});
}

/// Returns optimizer and learning rate for a calibrated model.
FineTuning tuning_of(const QatOptions& o, const train::QatPreset& preset,
                     const Model& model, const Dataset& training,
                     const Measured& by) {
  FineTuningOptions options{.share = preset.rate,
                            .only_this_optimizer = quant::learns_scales(model)};
  if (o.training.optimizer.empty() && o.training.rate == 0) {
    // SGD with the settings of the preset.
    options.make = [&](const std::string& word, double rate) {
      return word == "sgd"
                 ? preset.optimizer(static_cast<float>(rate / preset.rate))
                 : make_optimizer(word, rate);
    };
  }
  std::optional<io::TrainingConfig> trained = training_of(o.model);
  if (o.trained_rate > 0) trained = {"sgd", o.trained_rate, true};
  return choose_fine_tuning(model, training, by, o.training, trained, options);
}

train::FitOptions fit_options(const QatOptions& o,
                              const train::QatPreset& preset,
                              const TrainingParts& parts, const Measured& by) {
  TrainingOptions training = o.training;
  training.epochs = epochs_of(o, preset);
  train::FitOptions options = fit_options_of(training, parts, "qat", o.json);
  options.loss = by.loss;
  options.schedule =
      training.schedule.empty() ? preset.schedule() : make_schedule(training);
  if (o.freeze_batch_norm > 0) {
    options.callbacks.push_back(train::freeze_batch_norm(o.freeze_batch_norm));
  }
  options.callbacks.push_back(train::quantizer_guard(parts.training));
  return options;
}

io::OnnxExportOptions form_of(const QatOptions& o, const Model& given,
                              const std::vector<std::string>& classes,
                              const std::string& preprocess,
                              const std::string& resize) {
  io::OnnxExportOptions names = names_of(o.model, given);
  names.preprocess = preprocess;
  names.resize = resize;
  if (std::ssize(classes) == given.outputs()[0].shape()[-1]) {
    names.classes = classes;
  }
  return onnx_options(o.file, names);
}

/// Reports export errors before training.
void check_form(const QatOptions& o, const Model& model,
                const io::OnnxExportOptions& form) {
  if (o.output.ends_with(".onnx")) (void)io::to_onnx(model, form);
  if (is_tflite(o.output)) {
    (void)io::to_tflite(model, tflite_options(o.file, form));
  }
}

std::string tuning_text(const QatOptions& o, const train::QatPreset& preset,
                        bool has_qdq) {
  if (has_qdq) {
    return fmt::format("Q/DQ and scales of {}, learning rate of preset {}",
                       o.model.what, preset.name);
  }
  return fmt::format(
      "preset {}: {}{}", preset.name, preset.description,
      o.placement.bits.empty() ? "" : ", --bits " + o.placement.bits);
}

/// Throws: ValueError for --accuracy with a model that has no accuracy.
void check_accuracy(const QatOptions& o, const Measured& by, const Model& model,
                    const Dataset& evaluation_data) {
  if (o.accuracy < 0) return;
  const train::Evaluation one = train::evaluate(
      model, evaluation_data.take(1), {.loss = by.loss, .verbose = false});
  if (decisive_score(by, one).is_accuracy) return;
  throw ValueError(
      "conflicting_options", "--accuracy",
      fmt::format(
          "needs a model with one output and an accuracy metric, got loss '{}'",
          by.name));
}

/// Throws: UnsupportedError for options that a teacher excludes.
void check_teacher(const QatOptions& o, bool has_qdq) {
  if (o.teacher.empty()) return;
  const auto refuse = [](const char* option, const char* why) {
    throw UnsupportedError("conflicting_options", option, why);
  };
  if (o.teacher == "self" && has_qdq) {
    refuse("--teacher",
           "self needs a float model. Hint: --teacher FLOAT_MODEL");
  }
  if (!o.training.augment.empty()) {
    refuse("--augment",
           "cannot be combined with --teacher, whose outputs belong to the "
           "unchanged samples");
  }
  if (!o.training.class_weights.empty()) {
    refuse("--class-weights", "cannot be combined with --teacher");
  }
}

/// Throws: ValueError for a teacher with other outputs than the model's, or
/// with logits instead of probabilities or the reverse.
void check_outputs(const Model& model, const Model& teacher,
                   const std::string& name) {
  const auto is_probability = [](const std::string& end) {
    return end == "softmax" || end == "sigmoid";
  };
  for (size_t i = 0; i < model.outputs().size(); ++i) {
    if (teacher.outputs().size() != model.outputs().size() ||
        teacher.outputs()[i].shape() != model.outputs()[i].shape()) {
      throw ValueError(
          "shape_mismatch", "--teacher",
          fmt::format("'{}' must have outputs of the same number and shapes as "
                      "the model",
                      name));
    }
    const std::string wanted = train::output_activation(model, i);
    const std::string given = train::output_activation(teacher, i);
    const bool known = !wanted.empty() && !given.empty();
    if (!known || wanted == given ||
        (!is_probability(wanted) && !is_probability(given))) {
      continue;
    }
    throw ValueError(
        "activation_mismatch", "--teacher",
        fmt::format("output {} of '{}' ends in {}, but that of the model in "
                    "{}. Hint: both must end in the same activation",
                    i, name, given, wanted));
  }
}

/// Returns the losses of the model's outputs. With --teacher, replaces the
/// labels of the samples by the teacher's outputs.
std::vector<std::string> apply_teacher(const QatOptions& o, const Model& model,
                                       TrainingParts& parts) {
  if (o.teacher.empty()) return o.training.loss;
  std::optional<Model> other;
  if (o.teacher != "self") {
    other = as_option("--teacher",
                      [&] { return read_model(beside(o.model, o.teacher)); });
    check_outputs(model, *other, o.teacher);
  }
  const Model& teacher = other ? *other : model;
  parts.training = train::labeled_by(teacher, parts.training);
  if (parts.validation) {
    parts.validation = train::labeled_by(teacher, *parts.validation);
  }
  if (!o.json) {
    print(
        fmt::format("teacher: {}; an accuracy is the share of samples with "
                    "its class\n",
                    o.teacher == "self" ? "the float model" : o.teacher));
  }
  if (!o.training.loss.empty()) return o.training.loss;
  const std::vector<std::string> names = quant::output_names(model);
  std::vector<std::string> losses;
  const train::Losses by_teacher = train::teacher_losses(model);
  for (const train::OutputLoss& each : by_teacher.outputs()) {
    losses.push_back(names.size() > 1 ? each.output + "=" + each.loss.name()
                                      : each.loss.name());
  }
  return losses;
}

/// Sets the scale rule of --scales.
/// Throws: ValueError for an unknown word; UnsupportedError for learned zero
/// points without asymmetric activations.
void set_scale_rules(const QatOptions& o, quant::QuantizeOptions& options) {
  using quant::ScaleRule;
  if (o.scales.empty()) return;
  const auto rule =
      choice<ScaleRule, 3>("--scales", o.scales,
                           {{{"fixed", ScaleRule::fixed},
                             {"learned", ScaleRule::learned},
                             {"learned-affine", ScaleRule::learned_affine}}});
  if (rule == ScaleRule::learned_affine && o.placement.policy != "tflite") {
    throw UnsupportedError("conflicting_options", "--scales",
                           "learned-affine requires asymmetric activations. "
                           "Hint: a .tflite output file or "
                           "--policy tflite, or --scales learned");
  }
  options.activation.rule = rule;
  if (rule == ScaleRule::fixed) return;
  options.weight.rule = ScaleRule::learned;
  if (rule == ScaleRule::learned) return;
  options.activation.is_signed = false;
  options.activation.asymmetric = true;
}

/// Returns the calibrated model that training starts from. Without switches of
/// post-training methods, equalization is tried for INT8.
Model calibrated(const QatOptions& o, const train::QatPreset& preset,
                 const Model& model, const Dataset& training,
                 std::string& report) {
  const quant::CalibrationOptions usual = preset.calibration();
  quant::Recipe recipe;
  if (o.calibration.method.empty()) {
    recipe = recipe_of(o.recipe, CalibrationChoice());
    recipe.calibration = usual.method;
    recipe.percentile = usual.percentile;
  } else {
    recipe = recipe_of(o.recipe, o.calibration);
  }
  quant::RecipeOptions options{.weights = usual.weights};
  options.place = [&](const Model& source, const quant::Recipe& r) {
    return quantized(source, o.placement,
                     [&](const Model& m, quant::QuantizeOptions q) {
                       q = preset.quantize(m, std::move(q));
                       set_scale_rules(o, q);
                       if (r.rounding != quant::WeightRounding::nearest) {
                         q.weight.rule = quant::ScaleRule::fixed;
                       }
                       return q;
                     });
  };
  options.methods.seed = static_cast<uint64_t>(o.training.seed);
  const int64_t count =
      o.calibration.samples > 0 ? o.calibration.samples : usual.samples;
  const Dataset samples = training.sample(count);
  if (recipe.equalize) warn_unless_equalizable(model, "--equalize");
  quant::RecipeModel made =
      quant::quantize_with(model, samples, recipe, options);
  if (made.calibration) report += made.calibration->to_string();
  const bool tries = !o.recipe.any() && !o.recipe.no_equalize &&
                     preset.bits == 8 && o.placement.bits.empty() &&
                     format_of(o.placement) == Format::int8;
  if (!tries) return std::move(made.model);
  Config figures;
  report += use_equalized(
      model, made.model, samples, figures, [&]() -> std::optional<Calibrated> {
        try {
          const std::optional<Model> balanced = equalized(model);
          if (!balanced) return {};
          return Calibrated{
              quant::quantize_with(*balanced, samples, recipe, options).model,
              ""};
        } catch (const Error&) {
          return {};  // patterns or spec entries name folded layers
        }
      });
  return std::move(made.model);
}

}  // namespace

std::string write_model(const QatOptions& o, const Model& model,
                        const io::OnnxExportOptions& form) {
  if (is_tflite(o.output)) {
    return to_text(o.output, io::export_tflite(model, o.output,
                                               tflite_options(o.file, form)));
  }
  if (!o.output.ends_with(".onnx")) {
    io::save_model(model, o.output,
                   {.classes = form.classes,
                    .preprocess = form.preprocess,
                    .resize = form.resize,
                    .interface = form.interface,
                    .training = training_of(o.model)});
    return o.output + "\n";
  }
  const io::OnnxExportReport report = io::export_onnx(model, o.output, form);
  return fmt::format("{}: {} nodes, {} Q/DQ pairs, {} bytes\n", o.output,
                     report.nodes, report.qdq_pairs, report.bytes);
}

QatRun fine_tuned(QatOptions& o) {
  if (!is_tflite(o.output)) o.file.layout = o.data.layout;
  const PlacementOptions asked = o.placement;
  choose_format(o.output, o.file, &o.placement);
  (void)onnx_options(o.file, {});
  choose_policy(o.placement, o.file.target);
  if (o.output.ends_with(".onnx")) check_reader(o.placement, o.file.target);
  check_output(o.output);
  check_training_options(o.training);
  if (!o.calibration.method.empty()) check_method(o.calibration);
  const train::QatPreset& preset = train::qat_preset(o.preset);
  if (o.freeze_batch_norm >= epochs_of(o, preset)) {
    throw ValueError(
        "out_of_range", "--freeze-batch-norm",
        fmt::format("must be an epoch from 0 to {}, got {}",
                    epochs_of(o, preset) - 1, o.freeze_batch_norm));
  }
  if (o.training.threads > 0) {
    set_num_threads(static_cast<int>(o.training.threads));
  }
  warn_of_untrained(o.model);
  Model model = read_model(o.model);
  warn_of_rounded_weights(o.model, model);
  const bool has_qdq = quant::is_quantized(model);
  if (has_qdq) {
    check_no_placement(asked,
                       fmt::format("'{}' already has Q/DQ", o.model.what));
    if (!o.scales.empty()) {
      throw UnsupportedError(
          "conflicting_options", "--scales",
          fmt::format("'{}' already has Q/DQ", o.model.what));
    }
  }
  check_teacher(o, has_qdq);
  if (!o.teacher.empty()) o.data.labels_optional = true;
  const DataTarget target = target_of(model, o.model);
  const io::OpenedData opened = open_data(o.data, target);
  check_classes(model, o.model, opened);
  TrainingParts parts = parts_of(opened, o.training, o.data, target);
  const std::vector<std::string> losses = apply_teacher(o, model, parts);
  Measured by = measured_by(losses, model, parts.training, target.file_outputs);
  const Dataset training = data_for("qat", model, parts.training);
  const Dataset evaluation_data =
      data_for("qat", model, parts.validation ? *parts.validation : training);

  if (!o.json) {
    print(describe("training samples", training, opened, o.data, target));
    print(fmt::format("{} for validation: {}\n",
                      parts.validation ? evaluation_data.size() : 0,
                      parts.validation_is));
  }
  check_accuracy(o, by, model, evaluation_data);
  constexpr int64_t kMostSamples = 2048;
  const Dataset sample = training.sample(kMostSamples);
  const train::EvaluateOptions how{.loss = by.loss, .verbose = false};
  if (!has_qdq && o.teacher.empty()) {
    warn_of_class_order("qat", model, sample, opened,
                        train::evaluate(model, sample, how).accuracy);
  }
  std::vector<Figures> figures;
  if (!has_qdq) {
    figures.push_back(
        {"float", train::evaluate(model, evaluation_data,
                                  {.loss = by.loss, .verbose = false})});
  }
  std::string report;
  Model qat =
      has_qdq ? model.clone() : calibrated(o, preset, model, training, report);
  if (!o.json) print(report);
  io::OnnxExportOptions form = form_of(
      o, model, opened.classes, preprocess_to_keep(opened, o.data, target),
      resize_to_keep(opened, o.data, target));
  check_form(o, qat, form);
  quant::prepare_qat(qat);
  if (freezes_statistics(o, preset, qat, training, by)) {
    quant::freeze_bn_stats(qat);
  }
  FineTuning tuning = tuning_of(o, preset, qat, training, by);
  train::FitOptions options = fit_options(o, preset, parts, by);
  options.optimizer = tuning.optimizer;
  options.class_weights =
      class_weights_of(o.training, opened.classes, qat, training);
  if (!o.json) {
    print(fmt::format("{}; {} epochs of {}\n", tuning_text(o, preset, has_qdq),
                      options.epochs, tuning.text));
  }
  std::string start = has_qdq ? "given" : "calibrated";
  Outcome outcome =
      fine_tune(qat, training, evaluation_data, by, options,
                {.last_epoch = o.last_epoch, .update_statistics = training});
  figures.push_back({start, outcome.start});
  figures.push_back({"last epoch", outcome.last});
  figures.push_back({"selected", outcome.selected});
  const auto epochs = options.epochs;
  const double rate = double{options.optimizer.learning_rate()};
  return {.given = std::move(model),
          .tuned = std::move(qat),
          .by = std::move(by),
          .figures = std::move(figures),
          .outcome = std::move(outcome),
          .form = std::move(form),
          .evaluation_data = evaluation_data,
          .start = std::move(start),
          .has_validation = parts.validation.has_value(),
          .epochs = epochs,
          .rate = rate};
}

}  // namespace octet::program
