// octet report: writes an HTML report of a model.
#include <algorithm>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <octet/io/onnx.h>
#include <octet/io/report.h>
#include <octet/layers/detail/model_data.h>
#include <octet/quant/plan.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/detail/text_table.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>
#include <octet/runtime/parallel.h>
#include <octet/runtime/system.h>
#include <octet/train/evaluate.h>

#include "../common/program.h"
#include "choice.h"
#include "class_order.h"
#include "commands.h"
#include "data_options.h"
#include "io_names.h"
#include "loss_options.h"
#include "read_model.h"
#include "sensitivity_reference.h"
#include "session_timing.h"

namespace octet::program {
namespace {

constexpr const char* kReportNotes = R"(
The page has a verdict, accuracy, layer noise, ranges, lint, latency and a graph.
Without --reference, a quantized model is compared with itself without Q/DQ.
The analysis of layers uses --samples N, accuracy all samples.
)";

constexpr const char* kReportExamples = R"(
Examples:
  octet report int8.onnx --data x.npy --labels y.npy -o report.html
  octet report int8.h5 --data x.npy --labels y.npy --sensitivity -o report.html
  octet report int8.onnx --data photos/ --reference model.h5 --log history.csv \
      --command "octet quantize model.h5 -o int8.onnx --data photos/" -o r.html
)";

struct ReportOptions {
  ModelSource model;
  std::string reference;
  DataOptions data;
  std::string output;
  std::string target = "tensorrt10";
  std::vector<std::string> loss;
  std::string log;
  std::vector<std::string> commands;
  int64_t samples = 64;
  bool sensitivity = false;
  double seconds = 1;
};

/// Returns the reference model and records its name in the report.
std::optional<Model> reference_of(const ReportOptions& o, const Model& model,
                                  io::Report& report) {
  if (!o.reference.empty()) {
    report.reference = std::filesystem::path(o.reference).filename().string();
    return read_model(beside(o.model, o.reference));
  }
  if (!quant::is_quantized(model)) return std::nullopt;
  Model reference = model.clone();
  for (const auto& quantizer : quant::quantizers(reference)) {
    quantizer->set_enabled(false);
  }
  report.reference = "its float version";
  if (is_onnx(o.model.what)) {
    report.notes.emplace_back(
        "Without --reference, the model is compared with itself without Q/DQ. "
        "Weights of an ONNX file are already rounded, so weight "
        "rounding errors are not included.");
  }
  return reference;
}

std::string shapes_text(std::span<const SymbolicTensor> tensors) {
  std::string text;
  for (const SymbolicTensor& tensor : tensors) {
    text += (text.empty() ? "" : ", ") + tensor.shape().to_string();
  }
  return text;
}

void add_facts(const ReportOptions& o, const Model& model,
               const std::string& data, io::Report& report) {
  const auto fact = [&](const char* name, std::string value) {
    report.facts.emplace_back(name, std::move(value));
  };
  fact("model", o.model.what);
  if (!o.reference.empty()) fact("reference", o.reference);
  if (std::filesystem::is_regular_file(o.model.what)) {
    fact("file size", group_digits(static_cast<int64_t>(
                          std::filesystem::file_size(o.model.what))) +
                          " bytes");
  }
  if (is_onnx(o.model.what)) {
    const io::OnnxSummary file = io::inspect_onnx(o.model.what);
    fact("ONNX", fmt::format("opset {}, written by {}", file.opset,
                             file.producer.empty() ? "?" : file.producer));
  }
  NodeSize sum;
  for (const NodeSize& size : model.sizes()) {
    sum.parameters += size.parameters;
    sum.multiply_adds += size.multiply_adds;
  }
  fact("parameters", group_digits(sum.parameters));
  fact("multiply-adds per sample", group_digits(sum.multiply_adds));
  fact("inputs", shapes_text(model.inputs()));
  fact("outputs", shapes_text(model.outputs()));
  fact("Q/DQ", fmt::format("{} weights, {} activations",
                           quant::weight_quantizers(model).size(),
                           quant::activation_quantizers(model).size()));
  fact("data", data);
  fact("machine",
       fmt::format("{}, {} threads", to_string(active_isa()), num_threads()));
  fact("created",
       fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::time(nullptr))));
}

void add_accuracy(const ReportOptions& o, const Model& model,
                  const std::optional<Model>& reference, const Dataset& data,
                  const io::OpenedData& opened, const DataTarget& target,
                  io::Report& report) {
  if (data.label_specs().empty()) {
    report.notes.emplace_back("No accuracy: the data has no labels.");
    return;
  }
  if (model.outputs().size() != 1 && data.label_specs()[0].name.empty() &&
      o.loss.empty()) {
    report.notes.emplace_back(
        "No accuracy: the model has several outputs; --loss NAME=LOSS assigns "
        "the labels to one.");
    return;
  }
  const Measured by = measured_by(o.loss, model, data, target.file_outputs);
  const train::EvaluateOptions options{.loss = by.loss, .verbose = false};
  const train::Evaluation found = train::evaluate(model, data, options);
  warn_of_class_order("report", model, data, opened, found.accuracy);
  std::optional<train::Evaluation> expected;
  if (reference) {
    expected = train::evaluate(*reference, data_for("report", *reference, data),
                               options);
  }
  report.score_samples = data.size();
  const auto score = [&](const std::string& name) {
    report.scores.push_back(
        {name, found.value(name),
         expected ? std::optional(expected->value(name)) : std::nullopt,
         is_share(name)});
  };
  for (const train::MetricValue& metric : found.metrics) {
    score(metric.name);
  }
  score("loss");
  if (model.outputs().size() != 1) return;
  const int64_t classes = model.outputs()[0].shape()[-1];
  if (data.label_type() == DType::i64 && data.label_shape().rank() == 0 &&
      classes > 1) {
    report.confusion = train::confusion_matrix(model, data);
  }
}

void add_speed(const ModelSource& source, const std::string& name,
               const Model& model, double seconds, io::Report& report) {
  const InferenceSession session(model, session_options(source));
  const Measurement what{.network = name, .seconds = seconds};
  Times times = times_of(session, model, what);
  report.speeds.push_back({.name = name,
                           .batch = what.batch,
                           .median_ms = 1e3 * times.median,
                           .p99_ms = 1e3 * times.p99,
                           .weight_bytes = session.weight_bytes(),
                           .activation_bytes = session.activation_bytes(),
                           .steps = std::move(times.steps)});
}

void add_graph(const ReportOptions& o, const Model& model, io::Report& report) {
  const io::Target target =
      as_option("--target", [&] { return io::target_named(o.target); });
  if (is_onnx(o.model.what)) {
    report.graph = io::draw_onnx(
        o.model.what, {.target = target, .limits = o.model.limits()});
    report.lint = io::lint_onnx(o.model.what,
                                {.target = target, .limits = o.model.limits()});
    return;
  }
  report.graph = io::draw(model, {.target = target});
  if (!report.graph->note.empty()) {
    report.notes.push_back("No lint: " + report.graph->note);
    return;
  }
  const io::OnnxExportOptions form =
      target == io::Target::onnxruntime || target == io::Target::openvino
          ? io::OnnxExportOptions::for_target(io::target_named(o.target))
          : io::OnnxExportOptions();
  report.lint =
      io::lint_onnx_bytes(io::to_onnx(model, form).bytes, {.target = target});
}

/// Measures sensitivity against the reference outputs if possible.
void measure_sensitivity(const ReportOptions& o, const Model& model,
                         const std::optional<Model>& reference,
                         const Dataset& samples, io::Report& report) {
  const quant::SensitivityOptions options{.samples = 0};
  if (!o.reference.empty()) {
    try {
      report.sensitivity =
          sensitivity_beside(*reference, model, samples, options);
      return;
    } catch (const Error& error) {
      report.notes.push_back(fmt::format(
          "Sensitivity is relative to the model without Q/DQ, not to {}: {}",
          report.reference, error.message()));
    }
  }
  report.sensitivity = quant::sensitivity(model, samples, options);
  if (is_onnx(o.model.what)) {
    report.notes.emplace_back(
        "Sensitivity covers activations only: weights of an ONNX file are "
        "already rounded.");
  }
}

void add_noise(const ReportOptions& o, const Model& model,
               const std::optional<Model>& reference, const Dataset& data,
               io::Report& report) {
  const Dataset samples = data.sample(o.samples);
  if (quant::is_quantized(model)) {
    report.activations = io::activation_histograms(model, samples);
    report.findings = quant::check_quantizers(model, samples, {.samples = 0});
    if (o.sensitivity)
      measure_sensitivity(o, model, reference, samples, report);
  } else if (o.sensitivity) {
    report.notes.emplace_back("No sensitivity: the model has no Q/DQ.");
  }
  if (!reference) {
    report.notes.emplace_back(
        "No layer noise: a float model needs a --reference.");
    return;
  }
  if (model.inputs().size() != 1) {
    report.notes.emplace_back("No layer noise: the model has several inputs.");
    return;
  }
  const Batch batch = samples.batch(0, samples.size());
  report.comparison =
      io::compare_models(io::TracedModel(reference->clone()),
                         io::TracedModel(model.clone()), batch.inputs.at(0));
}

void make_report(const ReportOptions& o) {
  check_output(o.output);
  (void)as_option("--target", [&] { return io::target_named(o.target); });
  warn_of_untrained(o.model);
  const Model model = read_model(o.model);
  const DataTarget target = target_of(model, o.model);
  DataOptions given = o.data;
  given.labels_optional = true;
  const io::OpenedData opened = open_data(given, target);
  check_classes(model, o.model, opened);
  const Dataset data =
      data_for("report", model, opened.test ? *opened.test : opened.train);
  const std::string name = std::filesystem::path(o.model.what).filename();
  io::Report report{.title = name, .commands = o.commands, .model = name};
  if (!o.log.empty()) report.curves = io::read_curves(o.log);
  const std::optional<Model> reference = reference_of(o, model, report);
  std::string described = describe(opened.test ? "test samples" : "samples",
                                   data, opened, o.data, target);
  print(described);
  described.pop_back();  // trailing newline
  for (size_t at; (at = described.find('\n')) != std::string::npos;) {
    described.replace(at, 1, "; ");
  }
  add_facts(o, model, described, report);
  add_accuracy(o, model, reference, data, opened, target, report);
  const std::vector<std::string> own = names_of(o.model, model).classes;
  report.classes = own.empty() ? opened.classes : own;
  if (report.confusion &&
      std::ssize(report.classes) != report.confusion->classes()) {
    report.classes.clear();
  }
  add_noise(o, model, reference, data, report);
  if (o.seconds > 0) {
    add_speed(o.model, report.model, model, o.seconds, report);
    if (reference) {
      add_speed(o.model, report.reference, *reference, o.seconds, report);
    }
  }
  add_graph(o, model, report);
  write_file(o.output, io::to_html(report));
  print(fmt::format("{}: {} bytes\n", o.output,
                    std::filesystem::file_size(o.output)));
}

}  // namespace

void add_report(CommandLine& program) {
  const auto options = std::make_shared<ReportOptions>();
  ReportOptions& o = *options;
  Command command =
      program.add_command("report", "Write an HTML report of a model");
  add_model(command, o.model, kModelHelp);
  command.begin_group("Output");
  command
      .add("-o,--output,output", o.output,
           "output file, as argument or with -o")
      .type("REPORT.html")
      .required()
      .writes({".html"});
  add_data_options(command, o.data);
  command.begin_group("Analysis");
  command.add("--reference", o.reference, "float model to compare with")
      .type("FLOAT");
  command
      .add("--samples", o.samples, 1, 1 << 20,
           "number of samples for the analysis of layers")
      .show_default();
  command.add_flag(
      "--sensitivity", o.sensitivity,
      "rank layers by accuracy loss (four runs of the samples per layer)");
  add_loss_option(command, o.loss);
  command
      .add("--target", o.target,
           "runtime that will execute the model, for lint and the graph")
      .type("tensorrt8|tensorrt10|tensorrt11|tensorrt_rtx|onnxruntime|openvino")
      .show_default();
  command.add("--log", o.log, "training curves, written by octet train --log")
      .type("HISTORY.csv");
  command
      .add("--command", o.commands,
           "command to show as the source of the model")
      .type("TEXT");
  command
      .add("--seconds", o.seconds, 0, 3600,
           "minimum time to measure latency in seconds, 0: no measurement")
      .type("S")
      .show_default();
  command.set_footer(
      (std::string(kReportNotes) + kDataHelp + kImageHelp + kReportExamples)
          .c_str());
  command.when_chosen([options] { make_report(*options); });
}

}  // namespace octet::program
