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
#include "commands.h"
#include "data_options.h"
#include "export_options.h"
#include "loss_options.h"
#include "placement_options.h"
#include "qat_job.h"
#include "quantization_check.h"
#include "read_model.h"
#include "training_options.h"
#include "transfer_options.h"

namespace octet::program {
namespace {

constexpr const char* kQatNotes = R"(
A float model is quantized and calibrated first, by the preset or the chosen
post-training methods. If the output SQNR is then below 30 dB, equalized channel
ranges are tried. A model with Q/DQ keeps its
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
  octet qat model.h5 --data x.npy --teacher self --equalize -o int8.onnx
  octet qat calibrated.onnx --data photos/ --target onnxruntime -o tuned.onnx
)";

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
  const QatRun run = fine_tuned(o);
  const Measured& by = run.by;
  const Outcome& outcome = run.outcome;
  const std::string& start = run.start;
  const std::vector<Figures>& figures = run.figures;
  const train::QatPreset& preset = train::qat_preset(o.preset);
  const bool has_qdq = quant::is_quantized(run.given);
  const std::string written = write_model(o, run.tuned, run.form);
  if (o.json) {
    Config config;
    if (!has_qdq)
      config.set("float", to_config(figures[0].evaluation, by.name));
    config.set(start, to_config(outcome.start, by.name))
        .set("last epoch", to_config(outcome.last, by.name))
        .set("fine-tuned", to_config(outcome.selected, by.name))
        .set("selected_epoch", outcome.epoch)
        .set("evaluated_on", run.has_validation ? "validation" : "training")
        .set("preset", std::string(preset.name))
        .set("epochs", run.epochs)
        .set("rate", run.rate)
        .set("output", o.output);
    if (!has_qdq && o.placement.bits.empty()) {
      config.set("bits", int64_t{preset.bits});
    }
    print(io::to_json(config) + "\n");
  } else {
    print("\n" + figures_text(figures) + outcome.text(by, start) +
          (run.has_validation ? "\n" : ", evaluated on the training data\n") +
          written);
  }
  expect_quality(o, by, figures[0].evaluation, outcome, start);
  if (!has_qdq && !o.accept &&
      !decisive_score(by, outcome.selected).is_accuracy) {
    expect_outputs(run.given, run.tuned, run.evaluation_data,
                   figures[0].evaluation.loss, outcome.selected.loss, o.output);
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
  command
      .add(
          "--teacher", o.teacher,
          "train on the outputs of a model instead of labels: a model file, or "
          "self for the given float model")
      .type("MODEL|self");
  add_calibration_options(command, o.calibration, "the preset's");
  add_recipe_switches(command, o.recipe);
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
