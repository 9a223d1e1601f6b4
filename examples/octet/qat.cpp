// octet qat: fine-tunes a float model, or a model with Q/DQ, in low precision.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/io/json.h>
#include <octet/io/model_file.h>
#include <octet/io/onnx.h>
#include <octet/layers/detail/model_data.h>
#include <octet/quant/calibrate.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/detail/text_table.h>
#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>
#include <octet/train/callback.h>
#include <octet/train/qat_preset.h>

#include "../common/program.h"
#include "batch_statistics.h"
#include "class_order.h"
#include "commands.h"
#include "data_options.h"
#include "export_options.h"
#include "fine_tuning.h"
#include "io_names.h"
#include "loss_options.h"
#include "placement_options.h"
#include "quantization_check.h"
#include "read_model.h"
#include "tflite_output.h"
#include "training_options.h"
#include "transfer_options.h"

namespace octet::program {
namespace {

constexpr const char* kQatNotes = R"(
A float model is quantized and calibrated first. A model with Q/DQ keeps its
placement and continues from its scales. The exit code is 1 if the accuracy
falls more than 5 points below the float model's or, without an accuracy metric,
if outputs are much worse. With --accept, it is 0.
)";

constexpr const char* kQatExamples = R"(
Examples:
  octet qat model.h5 --data photos/ -o int8.onnx
  octet qat mobilenet.h5 --data photos/ --preset int8_mobile --augment flip \
    -o int8.onnx
  octet qat model.keras --data x.npy --labels y.npy --preset int4 \
    --trained-epochs 60 --trained-rate 0.05 -o int4.onnx
  octet qat calibrated.onnx --data photos/ --target onnxruntime -o tuned.onnx
)";

struct QatOptions {
  ModelSource model;
  DataOptions data;
  PlacementOptions placement;
  ExportOptions file;
  TrainingOptions training;
  std::string preset = "int8";
  std::string scales;  // empty: from the preset
  int64_t trained_epochs = 30;
  double trained_rate = 0;         // 0: from the model file
  int64_t freeze_batch_norm = -1;  // -1: from the preset
  double accuracy = -1;            // negative: not given
  bool accept = false;
  bool last_epoch = false;
  std::string output;
  bool json = false;
};

/// An evaluation and its name in the report.
struct Figures {
  std::string what;
  train::Evaluation evaluation;
};

std::string figures_text(const std::vector<Figures>& figures) {
  std::vector<Align> columns = {Align::left, Align::right};
  std::vector<std::string> head = {"", "loss"};
  for (const auto& metric : figures[0].evaluation.metrics) {
    columns.push_back(Align::right);
    head.push_back(metric.name);
  }
  TextTable table(columns);
  table.add_row(head);
  for (const Figures& row : figures) {
    std::vector<std::string> cells = {
        row.what, fmt::format("{:.4f}", row.evaluation.loss)};
    for (const auto& metric : row.evaluation.metrics) {
      cells.push_back(is_share(metric.name)
                          ? fmt::format("{:.2f} %", percent(metric.value))
                          : fmt::format("{:.4f}", metric.value));
    }
    table.add_row(cells);
  }
  return table.to_string();
}

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
    throw UnsupportedError(
        "conflicting_options", "--scales",
        "learned-affine needs zero points. Hint: a .tflite output file or "
        "--policy tflite, or --scales learned");
  }
  options.activation.rule = rule;
  if (rule == ScaleRule::fixed) return;
  options.weight.rule = ScaleRule::learned;
  if (rule == ScaleRule::learned) return;
  options.activation.is_signed = false;
  options.activation.asymmetric = true;
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

std::string what_is_tuned(const QatOptions& o, const train::QatPreset& preset,
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

/// Warns of a poor result.
/// Throws: ValueError if it is worse than allowed.
void expect_quality(const QatOptions& o, const Measured& by,
                    const train::Evaluation& given, const Outcome& outcome,
                    const std::string& start) {
  constexpr const char* kHint =
      "Hint: try another --rate, more --epochs or samples, or --preset "
      "int8_mobile";
  const Score before = decisive_score(by, given);
  const Score after = decisive_score(by, outcome.selected);
  if (outcome.epoch == 0) {
    warn("not_improved", "qat",
         fmt::format("no epoch improved the {} model, which was written. {}",
                     start, kHint));
  } else if (o.last_epoch && outcome.is_worse(by)) {
    warn("accuracy_dropped", "qat",
         fmt::format("fine-tuning made the model worse, from {} to {}. {}",
                     decisive_score(by, outcome.start).text(), after.text(),
                     kHint));
  }
  if (o.accuracy >= 0) {
    if (after.value >= o.accuracy) return;
    throw ValueError(
        "accuracy_not_met", "--accuracy",
        fmt::format("{:.2f} % required, got {}; the model is in '{}'. {}",
                    percent(o.accuracy), after.text(), o.output, kHint));
  }
  // Shares of few samples are unreliable.
  constexpr double kMayLose = 0.05;
  constexpr double kFewest = 3;
  const double lost = before.value - after.value;
  if (!before.is_accuracy || o.accept || lost <= kMayLose ||
      lost * static_cast<double>(given.samples) < kFewest) {
    return;
  }
  throw ValueError(
      "accuracy_dropped", "qat",
      fmt::format("the accuracy fell by {:.2f} points, from {} to {}; the "
                  "model is in '{}'. {}, or --accept",
                  percent(lost), before.text(), after.text(), o.output, kHint));
}

void run_qat(QatOptions o) {
  if (!is_tflite(o.output)) o.file.layout = o.data.layout;
  const PlacementOptions asked = o.placement;
  choose_format(o.output, o.file, &o.placement);
  (void)onnx_options(o.file, {});
  choose_policy(o.placement, o.file.target);
  if (o.output.ends_with(".onnx")) check_reader(o.placement, o.file.target);
  check_output(o.output);
  check_training_options(o.training);
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
  const Model model = read_model(o.model);
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
  const DataTarget target = target_of(model, o.model);
  const io::OpenedData opened = open_data(o.data, target);
  check_classes(model, o.model, opened);
  const TrainingParts parts = parts_of(opened, o.training, o.data, target);
  const Measured by =
      measured_by(o.training.loss, model, parts.training, target.file_outputs);
  const Dataset training = data_for("qat", model, parts.training);
  const Dataset evaluation_data =
      data_for("qat", model, parts.validation ? *parts.validation : training);

  Model qat =
      has_qdq ? model.clone()
              : quantized(model, o.placement,
                          [&](const Model& m, quant::QuantizeOptions options) {
                            options = preset.quantize(m, std::move(options));
                            set_scale_rules(o, options);
                            return options;
                          });
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
  if (!has_qdq) {
    warn_of_class_order("qat", model, sample, opened,
                        train::evaluate(model, sample, how).accuracy);
  }
  std::vector<Figures> figures;
  if (!has_qdq) {
    figures.push_back(
        {"float", train::evaluate(model, evaluation_data,
                                  {.loss = by.loss, .verbose = false})});
    quant::calibrate(qat, training, preset.calibration());
  }
  const io::OnnxExportOptions form = form_of(
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
    print(fmt::format("{}; {} epochs of {}\n",
                      what_is_tuned(o, preset, has_qdq), options.epochs,
                      tuning.text));
  }
  const std::string start = has_qdq ? "given" : "calibrated";
  const Outcome outcome =
      fine_tune(qat, training, evaluation_data, by, options,
                {.last_epoch = o.last_epoch, .update_statistics = training});
  figures.push_back({start, outcome.start});
  figures.push_back({"last epoch", outcome.last});
  figures.push_back({"selected", outcome.selected});
  const std::string written = write_model(o, qat, form);
  if (o.json) {
    Config config;
    if (!has_qdq)
      config.set("float", to_config(figures[0].evaluation, by.name));
    config.set(start, to_config(outcome.start, by.name))
        .set("last epoch", to_config(outcome.last, by.name))
        .set("fine-tuned", to_config(outcome.selected, by.name))
        .set("selected_epoch", outcome.epoch)
        .set("evaluated_on", parts.validation ? "validation" : "training")
        .set("preset", std::string(preset.name))
        .set("epochs", options.epochs)
        .set("rate", double{options.optimizer.learning_rate()})
        .set("output", o.output);
    if (!has_qdq && o.placement.bits.empty()) {
      config.set("bits", int64_t{preset.bits});
    }
    print(io::to_json(config) + "\n");
  } else {
    print("\n" + figures_text(figures) + outcome.text(by, start) +
          (parts.validation ? "\n" : ", evaluated on the training data\n") +
          written);
  }
  expect_quality(o, by, figures[0].evaluation, outcome, start);
  if (!has_qdq && !o.accept &&
      !decisive_score(by, outcome.selected).is_accuracy) {
    expect_outputs(model, qat, evaluation_data, figures[0].evaluation.loss,
                   outcome.selected.loss, o.output);
  }
}

}  // namespace

void add_qat(CommandLine& program) {
  const auto options = std::make_shared<QatOptions>();
  QatOptions& o = *options;
  Command command = program.add_command(
      "qat", "Fine-tune a model with quantization-aware training");
  add_model(command, o.model, kModelHelp);
  add_data_options(command, o.data);
  command.begin_group("Output");
  command
      .add("-o,--output,output", o.output,
           "output file: .onnx with Q/DQ, .tflite, or .h5 for further training")
      .type("OUT.onnx|OUT.tflite")
      .required()
      .writes({".onnx", ".tflite", ".h5"});
  std::string presets;
  for (const train::QatPreset& preset : train::qat_presets()) {
    presets += fmt::format("{}{}: {}", presets.empty() ? "" : "; ", preset.name,
                           preset.description);
  }
  command.begin_group("Quantization");
  command.add("--preset", o.preset, ("fine-tuning preset; " + presets).c_str())
      .type("int8|int8_mobile|int4")
      .show_default();
  command
      .add(
          "--scales", o.scales,
          "scales in training: fixed, of calibration; learned with the "
          "weights (LSQ); learned-affine, with zero points (LSQ+), for .tflite "
          "files (default: from the preset)")
      .type("fixed|learned|learned-affine");
  command
      .add(
          "--trained-epochs", o.trained_epochs, 1, int64_t{1} << 31,
          "epochs of the float training; the preset trains for a share of them")
      .show_default();
  command.add(
      "--trained-rate", o.trained_rate, 1e-9, 1e6,
      "peak SGD learning rate of the float training; the preset's rate "
      "is a share of it (default: from the model file, else a range test)");
  add_training_options(
      command, o.training,
      {.epochs = "number of epochs (default: from the preset)",
       .rate = "learning rate (default: the preset's share of --trained-rate)",
       .optimizer = "optimizer (default: from the model file, else sgd with "
                    "momentum 0.9)",
       .schedule = "learning rate schedule (default: cosine)"});
  add_class_weights_option(command, o.training.class_weights);
  command.begin_group("Quantization");
  command
      .add("--freeze-batch-norm", o.freeze_batch_norm, 0, int64_t{1} << 31,
           "first epoch with frozen batch normalization statistics (default: "
           "0; with int4 or --rate: 0 if re-estimated statistics are worse, "
           "else never)")
      .type("EPOCH");
  command.add("--accuracy", o.accuracy, 0, 1,
              "required accuracy; exit code 1 below it");
  command.add_flag(
      "--accept", o.accept,
      "exit with 0 even if the model is much worse than the float model");
  command.add_flag("--last-epoch", o.last_epoch,
                   "write the model of the last epoch instead of the best");
  add_placement_options(command, o.placement);
  command.begin_group("Output");
  add_target_option(command, o.file);
  command.add_flag("--json", o.json, "print JSON");
  command.set_footer(
      (std::string(kQatNotes) + kDataHelp + kImageHelp + kQatExamples).c_str());
  command.when_chosen([options] { run_qat(*options); });
}

}  // namespace octet::program
