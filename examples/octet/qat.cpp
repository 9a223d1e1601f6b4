// octet qat: from a float model, or one with Q/DQ, to one that was fine-tuned
// in few bits.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/io/checkpoint.h>
#include <octet/io/json.h>
#include <octet/io/onnx.h>
#include <octet/layers/model_data.h>
#include <octet/quant/calibrate.h>
#include <octet/quant/qat.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>
#include <octet/runtime/text_table.h>
#include <octet/train/callbacks.h>
#include <octet/train/qat_preset.h>

#include "../program.h"
#include "commands.h"
#include "data_options.h"
#include "export_options.h"
#include "loss_options.h"
#include "placement_options.h"
#include "read_model.h"
#include "same_order.h"
#include "training_options.h"

namespace octet::program {
namespace {

constexpr const char* kQatExamples = R"(
Examples:
  octet qat model.h5 --data photos/ -o int8.onnx
  octet qat mobilenet.h5 --data photos/ --preset int8_mobile --augment flip \
    -o int8.onnx
  octet qat model.keras --data x.npy --labels y.npy --preset int4 \
    --trained-epochs 60 --trained-rate 0.05 -o int4.onnx
  octet qat calibrated.onnx --data photos/ --target onnxruntime -o tuned.onnx
)";

struct Options {
  ModelSource model;
  DataOptions data;
  PlacementOptions placement;
  ExportOptions file;
  TrainingOptions training;
  std::string preset = "int8";
  int64_t trained_epochs = 30;
  double trained_rate = 0.1;
  int64_t freeze_batch_norm = -1;  // -1: as the preset
  std::string output;
  bool json = false;
};

/// What is measured before and after.
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

/// Fine-tuning that makes a model worse is worth a word.
void warn_of_loss(const Figures& before, const Figures& after) {
  if (after.evaluation.loss <= before.evaluation.loss) return;
  warn(fmt::format(
      "qat: fine-tuning raised the loss from {:.4f} to {:.4f}. Hint: a smaller "
      "--rate, more --epochs, --preset int8_mobile; or a model that is "
      "calibrated alone",
      before.evaluation.loss, after.evaluation.loss));
}

/// Whether weights move as the preset says.
bool follows_preset(const TrainingOptions& training) {
  return training.optimizer.empty() && training.rate == 0;
}

int64_t epochs_of(const Options& o, const train::QatPreset& preset) {
  return o.training.epochs > 0 ? o.training.epochs
                               : preset.epochs_of(o.trained_epochs);
}

train::FitOptions tuning(const Options& o, const train::QatPreset& preset,
                         const TrainingParts& parts) {
  TrainingOptions training = o.training;
  training.epochs = epochs_of(o, preset);
  train::FitOptions options = fit_options_of(training, parts, "qat", o.json);
  options.optimizer =
      follows_preset(training)
          ? preset.optimizer(static_cast<float>(o.trained_rate))
          : make_optimizer(
                training.optimizer.empty() ? "sgd" : training.optimizer,
                training.rate);
  options.schedule =
      training.schedule.empty() ? preset.schedule() : make_schedule(training);
  return options;
}

io::OnnxOptions form_of(const Options& o, const Model& given,
                        const std::vector<std::string>& classes,
                        const std::string& preprocess,
                        const std::string& resize) {
  io::OnnxOptions names = names_of(o.model, given);
  names.preprocess = preprocess;
  names.resize = resize;
  if (std::ssize(classes) == given.outputs()[0].shape()[-1]) {
    names.classes = classes;
  }
  return onnx_options(o.file, names);
}

/// What could not be written is told before it is trained.
void check_form(const Options& o, const Model& model,
                const io::OnnxOptions& form) {
  if (o.output.ends_with(".onnx")) (void)io::to_onnx(model, form);
}

std::string write_model(const Options& o, const Model& given,
                        const Model& model, const io::OnnxOptions& form) {
  if (!o.output.ends_with(".onnx")) {
    io::save_model(model, o.output,
                   {.classes = form.classes,
                    .preprocess = form.preprocess,
                    .resize = form.resize});
    return o.output + "\n";
  }
  const io::OnnxReport report = io::export_onnx(model, o.output, form);
  warn_of_other_axes(o.model, given, form);
  return fmt::format("{}: {} nodes, {} Q/DQ pairs, {} bytes\n", o.output,
                     report.nodes, report.qdq_pairs, report.bytes);
}

std::string what_is_tuned(const Options& o, const train::QatPreset& preset,
                          bool has_qdq) {
  if (has_qdq) {
    return fmt::format("Q/DQ and scales of {}, rates of preset {}",
                       o.model.what, preset.name);
  }
  return fmt::format(
      "preset {}: {}{}", preset.name, preset.description,
      o.placement.bits.empty() ? "" : ", but --bits " + o.placement.bits);
}

void run_qat(Options o) {
  (void)onnx_options(o.file, {});
  const PlacementOptions asked = o.placement;
  choose_policy(o.placement, o.file.target);
  if (o.output.ends_with(".onnx")) check_reader(o.placement, o.file.target);
  check_output(o.output);
  check_not_read(o.output, files_of(o.model, o.data));
  check_training_options(o.training);
  const train::QatPreset& preset = train::qat_preset(o.preset);
  if (o.freeze_batch_norm >= epochs_of(o, preset)) {
    throw ValueError(fmt::format(
        "--freeze-batch-norm: expected an epoch from 0 to {}, got {}",
        epochs_of(o, preset) - 1, o.freeze_batch_norm));
  }
  if (o.training.threads > 0) {
    set_num_threads(static_cast<int>(o.training.threads));
  }
  warn_of_untrained(o.model);
  const Model model = read_model(o.model);
  const bool has_qdq = !quant::quantizers(model).empty();
  if (has_qdq) {
    check_no_placement(asked,
                       fmt::format("and '{}' has its own", o.model.what));
  }
  const DataTarget target = target_of(model, o.model);
  const io::OpenedData opened = open_data(o.data, target);
  check_classes(model, o.model, opened);
  const TrainingParts parts = parts_of(opened, o.training, o.data, target);
  const Measured by = measured_by(o.training.loss, model, parts.training);
  const Dataset training = data_for("qat", model, parts.training);
  const Dataset judged =
      data_for("qat", model, parts.validation ? *parts.validation : training);

  Model qat =
      has_qdq ? model.clone()
              : quantized(model, o.placement,
                          [&](const Model& m, quant::QuantizeOptions options) {
                            return preset.quantize(m, std::move(options));
                          });
  train::FitOptions options = tuning(o, preset, parts);
  options.loss = by.loss;
  if (!o.json) {
    print(describe("training samples", training, opened, o.data, target));
    print(fmt::format("{} for validation: {}\n",
                      parts.validation ? judged.size() : 0,
                      parts.validation_is));
    print(fmt::format("{}; {} epochs at a rate of {:g}\n",
                      what_is_tuned(o, preset, has_qdq), options.epochs,
                      options.optimizer.learning_rate()));
  }
  const auto measure = [&](const char* what, const Model& m) {
    return Figures{
        what, train::evaluate(m, judged, {.loss = by.loss, .verbose = false})};
  };
  std::vector<Figures> figures = {measure(has_qdq ? "given" : "float", model)};
  if (!has_qdq) {
    quant::calibrate(qat, training, preset.calibration());
    figures.push_back(measure("calibrated", qat));
  }
  const io::OnnxOptions form = form_of(
      o, model, opened.classes, preprocess_to_keep(opened, o.data, target),
      resize_to_keep(opened, o.data, target));
  check_form(o, qat, form);
  // Statistics that are frozen from the start bear the rates of presets alone.
  if (o.freeze_batch_norm >= 0) {
    quant::prepare_qat(qat);
    options.callbacks.push_back(train::freeze_batch_norm(o.freeze_batch_norm));
  } else if (follows_preset(o.training)) {
    preset.prepare(qat);
  } else {
    quant::prepare_qat(qat);
  }
  options.callbacks.push_back(train::quantizer_guard(training));
  train::fit(qat, training, options);
  figures.push_back(measure("fine-tuned", qat));
  warn_of_loss(figures[figures.size() - 2], figures.back());
  const std::string written = write_model(o, model, qat, form);
  if (o.json) {
    Config config;
    for (const Figures& row : figures) {
      config.set(row.what, to_config(row.evaluation, by.name));
    }
    config.set("judged_by", parts.validation ? "validation" : "training")
        .set("preset", std::string(preset.name))
        .set("epochs", options.epochs)
        .set("rate", double{options.optimizer.learning_rate()})
        .set("output", o.output);
    if (!has_qdq && o.placement.bits.empty()) {
      config.set("bits", int64_t{preset.bits});
    }
    print(io::to_json(config) + "\n");
    return;
  }
  print("\n" + figures_text(figures) +
        (parts.validation ? "" : "on the training data itself\n") + written);
}

}  // namespace

void add_qat(CommandLine& program) {
  const auto options = std::make_shared<Options>();
  Options& o = *options;
  Command command = program.add_command(
      "qat",
      "Quantize a float model, calibrate it and fine-tune it on samples "
      "(quantization-aware training); a model with Q/DQ keeps them and goes "
      "on from their scales");
  add_model(command, o.model, kModelHelp);
  add_data_options(command, o.data);
  command
      .add("-o,--output", o.output,
           "what to write: .onnx with Q/DQ, or .h5 to train on")
      .type("OUT.onnx")
      .required()
      .check([](const std::string& path) -> std::string {
        if (path.ends_with(".h5") || path.ends_with(".onnx")) return {};
        return "expected the name of an .onnx or .h5 file, got '" + path + "'";
      });
  std::string presets;
  for (const train::QatPreset& preset : train::qat_presets()) {
    presets += fmt::format("{}{}: {}", presets.empty() ? "" : "; ", preset.name,
                           preset.description);
  }
  command.add("--preset", o.preset, presets.c_str())
      .type("int8|int8_mobile|int4")
      .show_default();
  command
      .add("--trained-epochs", o.trained_epochs, 1, int64_t{1} << 31,
           "epochs of the float training, of which the preset takes a share")
      .show_default();
  command
      .add("--trained-rate", o.trained_rate, 1e-9, 1e6,
           "largest rate of the float training, with sgd, likewise")
      .show_default();
  add_training_options(
      command, o.training,
      {.epochs = "passes over the samples [as the preset says]",
       .rate = "learning rate [as the preset says; with --optimizer its own]",
       .optimizer = "how weights move [sgd with momentum 0.9]",
       .schedule = "of the rate [cosine]"});
  command
      .add("--freeze-batch-norm", o.freeze_batch_norm, 0, int64_t{1} << 31,
           "epoch, from 0, from which statistics of batch normalization stay "
           "as they are [0; never with int4, --rate or --optimizer]")
      .type("EPOCH");
  add_placement_options(command, o.placement);
  add_target_option(command, o.file);
  command.add_flag("--json", o.json, "print JSON instead");
  command.set_footer((std::string(kDataHelp) + kQatExamples).c_str());
  command.when_chosen([options] { run_qat(*options); });
}

}  // namespace octet::program
