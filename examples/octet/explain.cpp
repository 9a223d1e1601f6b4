// octet explain: a model's quantization on one page, in plain words.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/io/lint.h>
#include <octet/io/onnx.h>
#include <octet/layers/detail/model_data.h>
#include <octet/quant/calibrate.h>
#include <octet/quant/plan.h>
#include <octet/quant/quantize_model.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/detail/text_table.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "../common/program.h"
#include "choice.h"
#include "commands.h"
#include "data_options.h"
#include "explain_page.h"
#include "job_file.h"
#include "placement_options.h"
#include "quantization_check.h"
#include "read_model.h"
#include "session_timing.h"
#include "shell.h"
#include "silence.h"

namespace octet::program {
namespace {

struct ExplainOptions {
  ModelSource model;
  DataOptions data;
  std::string reference;  // float model
  std::string target;     // "": tensorrt10
};

/// Adds errors and warnings of lint with their fixes, each rule once.
void add_findings(const io::LintReport& lint, const std::string& command,
                  Page& page) {
  std::set<std::string> shown;  // rules
  for (const io::LintFinding& finding : lint.findings) {
    if (finding.severity == io::LintSeverity::info) continue;
    if (!shown.insert(finding.id).second) continue;
    page.command(fmt::format("{} {} at {}: {}. Fix: {}", finding.id,
                             to_string(finding.severity),
                             finding.node.empty() ? "the file" : finding.node,
                             finding.reason, finding.hint),
                 command);
  }
}

/// Returns the model of --reference, else the model without fake quantization.
Model float_model(const ExplainOptions& o, const Model& model) {
  if (!o.reference.empty()) return read_model(beside(o.model, o.reference));
  Model result = model.clone();
  quant::disable_fake_quant(result);
  return result;
}

void add_costs(const ExplainOptions& o, const Model& model, Page& page) {
  page.section("What it costs");
  const Model reference = float_model(o, model);
  const char* name = o.reference.empty() ? "without Q/DQ" : "float";
  const auto int8_ms = session_milliseconds(model, session_options(o.model));
  const auto float_ms =
      session_milliseconds(reference, session_options(o.model));
  if (int8_ms && float_ms) {
    page.line(fmt::format(
        "Latency of one sample in a session on this machine: {:.3f} ms, {} "
        "{:.3f} ms.",
        *int8_ms, name, *float_ms));
  }
  if (o.data.paths.empty()) {
    page.line("Accuracy: not measured, without --data.");
    return;
  }
  const DataTarget target = target_of(model, o.model);
  const io::OpenedData opened = open_data(o.data, target);
  const QuantizationCheck check = check_quantization(
      reference, model, evaluation_samples(reference, opened));
  std::string text = to_text(check);
  text.erase(0, text.find_first_not_of('\n'));
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    page.line(text.substr(at, end - at));
    at = end + 1;
  }
  for (const std::string& problem : check.problems) {
    page.line("Much worse than the float model: " + problem);
  }
}

std::string stem_of(const std::string& file) {
  return std::filesystem::path(file).stem().string();
}

/// Returns the command of octet optimize for a float model. Its output file has
/// the runtime in its name.
std::string optimize_command(const ExplainOptions& o,
                             const ModelSource& model) {
  const std::string target = o.target.empty() ? "tensorrt10" : o.target;
  return fmt::format(
      "octet optimize {}{} --target {} -o {}", model_words(model),
      data_words(o.data), target,
      shell_word(fmt::format("{}_{}.onnx", stem_of(model.what), target)));
}

void add_next_steps(const ExplainOptions& o, bool loads, Page& page) {
  const std::string file = model_words(o.model);
  const bool onnx = is_onnx(o.model.what);
  if (onnx) {
    page.command("See every layer with its precision and Q/DQ:",
                 fmt::format("octet graph {} -o {}", file,
                             shell_word(stem_of(o.model.what) + "_graph.svg")));
  }
  if (loads) {
    page.command("Time each step on this machine:", "octet bench " + file);
  }
  if (!loads || o.data.paths.empty()) {
    page.line(
        "With --data X (and --reference FLOAT), this page measures the "
        "accuracy.");
    return;
  }
  page.command("Find the layers that lose most accuracy:",
               fmt::format("octet sensitivity {}{}{}", file, data_words(o.data),
                           o.reference.empty() || !onnx
                               ? ""
                               : " --reference " + shell_word(o.reference)));
  if (o.reference.empty()) return;
  page.command("Search for a better file for the target:",
               optimize_command(o, beside(o.model, o.reference)));
}

io::Target lint_target(const ExplainOptions& o) {
  if (o.target.empty()) return io::Target::tensorrt10;
  return as_option("--target", [&] { return io::target_named(o.target); });
}

std::string lint_command(const ExplainOptions& o) {
  std::string text = "octet lint " + shell_word(o.model.what);
  return o.target.empty() ? text : text + " --target " + o.target;
}

/// Returns the page of a float model, with its planned quantization.
std::string page_of_float(const ExplainOptions& o, const Model& model) {
  PlacementOptions placement;
  choose_policy(placement, o.target.empty() ? std::optional<std::string>()
                                            : std::optional(o.target));
  const quant::Placement planned =
      quant::place(model, quantize_options(placement));
  std::vector<std::string> layers;
  for (const quant::QdqPoint& point : planned.plan.points) {
    if (std::ranges::find(layers, point.layer) == layers.end()) {
      layers.push_back(point.layer);
    }
  }
  Page page(fmt::format("{}: a float model with {} parameters; not quantized",
                        o.model.what, group_digits(model.parameter_count())));
  page.section("What would be quantized, and why");
  page.line(fmt::format("{}: {}", counted(std::ssize(layers), "layer"),
                        some_of(layers)));
  Reasons why;
  for (const quant::QdqPoint& point : planned.plan.points) {
    why.add(point.reason, point.layer);
  }
  why.print(page);
  page.section("What would stay float, and why");
  Reasons floating;
  for (const quant::PlacementNote& note : planned.notes) {
    // Layers such as pooling run in integers between quantized layers.
    if (note.text.starts_with("Q/DQ moves through")) continue;
    floating.add(note.text, note.layer);
  }
  if (floating.empty()) {
    page.line("Layers without products, such as activations and reshaping.");
  } else {
    floating.print(page);
  }
  page.section("What to do next");
  const std::string file = model_words(o.model);
  page.command("See the plan with its rules:",
               fmt::format("octet plan {} --explain", file));
  page.command("Time the float model and a simulated INT8 model here:",
               fmt::format("octet bench {} --int8", file));
  if (o.data.paths.empty()) {
    page.line("With --data X, this page shows how to quantize.");
    return page.text();
  }
  const std::string stem = stem_of(o.model.what);
  page.command(
      "Quantize by calibration:",
      fmt::format("octet quantize {}{} -o {}", file, data_words(o.data),
                  shell_word(stem + "_int8.onnx")));
  page.command("Search for the best file for a runtime:",
               optimize_command(o, o.model));
  return page.text();
}

/// Returns the page of a quantized file or model.
std::string page_of_quantized(const ExplainOptions& o,
                              const io::LintReport& lint,
                              const std::optional<io::OnnxSummary>& summary,
                              const std::optional<Model>& model,
                              const std::string& problem) {
  std::string title = o.model.what + ": quantized";
  if (summary) {
    title += fmt::format("; {} bytes, {}, {}", group_digits(summary->bytes),
                         counted(std::ssize(summary->nodes), "node"),
                         counted(std::ssize(summary->qdq_pairs), "Q/DQ pair"));
  } else if (std::filesystem::exists(o.model.what)) {
    title += fmt::format("; {} bytes",
                         group_digits(static_cast<int64_t>(
                             std::filesystem::file_size(o.model.what))));
  }
  Page page(std::move(title));
  add_precisions(lint, summary, page);
  if (model) {
    add_costs(o, *model, page);
  } else {
    page.section("What it costs");
    page.line("Not measured: " + problem);
  }
  page.section("What to try next");
  if (summary || is_tflite_file(o.model.what)) {
    add_findings(lint, lint_command(o), page);
    page.command(
        fmt::format("{}, {}; all findings:",
                    counted(lint.count(io::LintSeverity::error), "error"),
                    counted(lint.count(io::LintSeverity::warning), "warning")),
        lint_command(o) + " --all");
  }
  add_next_steps(o, model.has_value(), page);
  return page.text();
}

/// Whether activations are uint8, which TensorRT rejects.
bool has_uint8(const io::OnnxSummary& summary) {
  return std::ranges::any_of(summary.qdq_pairs, [](const auto& pair) {
    return pair.kind != "weight" && pair.type == "uint8";
  });
}

std::string explained(ExplainOptions o) {
  const std::string file = o.model.what;
  (void)lint_target(o);  // reports errors early
  std::optional<Model> model;
  std::string problem;
  const Silence silence;  // import details are not part of the page
  if (is_onnx(file)) {
    check_no_architecture(o.model);
    const io::OnnxSummary summary = io::inspect_onnx(file);
    try {
      model = read_model(o.model);
    } catch (const UnsupportedError& error) {
      problem = error.what();
    }
    if (summary.qdq_pairs.empty()) {
      if (!model) throw UnsupportedError("unsupported_model", file, problem);
      return page_of_float(o, *model);
    }
    if (o.target.empty() && has_uint8(summary)) o.target = "onnxruntime";
    return page_of_quantized(o, io::lint_onnx(file, {.target = lint_target(o)}),
                             summary, model, problem);
  }
  model = read_model(o.model);
  if (is_tflite_file(file)) {
    const io::LintReport lint = io::lint_tflite(file);
    return quant::is_quantized(*model)
               ? page_of_quantized(o, lint, {}, model, "")
               : page_of_float(o, *model);
  }
  if (!quant::is_quantized(*model)) return page_of_float(o, *model);
  const std::string bytes = io::to_onnx(*model).bytes;
  return page_of_quantized(
      o, io::lint_onnx_bytes(bytes, {.target = lint_target(o)}), {}, model, "");
}

}  // namespace

void add_explain(CommandLine& program) {
  const auto options = std::make_shared<ExplainOptions>();
  ExplainOptions& o = *options;
  Command command = program.add_command(
      "explain", "Explain the quantization of a model in plain words");
  add_model(command, o.model, kModelHelp);
  add_data_options(command, o.data, LabelKinds::classes, NeedsData::no);
  command.begin_group("Analysis");
  command
      .add("--reference", o.reference,
           "float model to compare with (default: the model without Q/DQ)")
      .type("FLOAT");
  command
      .add(
          "--target", o.target,
          "runtime of the forecast (default: tensorrt10; onnxruntime for uint8 "
          "activations)")
      .type(
          "tensorrt8|tensorrt10|tensorrt11|tensorrt_rtx|onnxruntime|openvino");
  command.set_footer((std::string(R"(
Prints which layers are quantized and which stay float, with reasons, the cost in
latency and accuracy, and the next commands, which run as printed.

Examples:
  octet explain int8.onnx
  octet explain int8.onnx --data x.npy --reference model.h5 --target onnxruntime
  octet explain model.h5
)") + kDataHelp)
                         .c_str());
  command.when_chosen([options] { print(explained(*options)); });
}

}  // namespace octet::program
