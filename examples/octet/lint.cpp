#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <octet/io/data.h>
#include <octet/io/json.h>
#include <octet/io/lint.h>
#include <octet/runtime/detail/text_table.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "../common/program.h"
#include "choice.h"
#include "commands.h"
#include "read_model.h"

namespace octet::program {
namespace {

std::string rules_text() {
  TextTable table({Align::left, Align::left, Align::left, Align::left,
                   Align::left, Align::left, Align::left});
  table.add_row({"rule", "tensorrt8", "10", "11", "onnxruntime", "openvino",
                 "requirement"});
  table.add_rule();
  for (const io::LintRule& rule : io::lint_rules()) {
    const std::string_view s = rule.severities;
    table.add_row({std::string(rule.id), std::string(1, s[0]),
                   std::string(1, s[1]), std::string(1, s[2]),
                   std::string(1, s[3]), std::string(1, s[4]),
                   std::string(rule.text)});
  }
  TextTable tflite({Align::left, Align::left, Align::left});
  tflite.add_row({"rule", "tflite", "requirement"});
  tflite.add_rule();
  for (const io::LintRule& rule : io::tflite_lint_rules()) {
    tflite.add_row({std::string(rule.id), std::string(rule.severities),
                    std::string(rule.text)});
  }
  return table.to_string() + "\n" + tflite.to_string() +
         "E: error, W: warning, I: info\n";
}

/// Options of `octet lint`.
struct LintCommand {
  std::string file;
  std::optional<std::string> target;
  std::string fix;
  std::string data;
  bool all = false;
  bool json = false;
  bool rules = false;
};

/// Throws: ValueError for options of ONNX files.
void check_tflite_options(const LintCommand& o) {
  const std::pair<const char*, bool> given[] = {
      {"--target", o.target && *o.target != "tflite"},
      {"--data", !o.data.empty()},
      {"--fix", !o.fix.empty()}};
  for (const auto& [option, is_given] : given) {
    if (!is_given) continue;
    throw ValueError("conflicting_options", option,
                     "applies to ONNX files. Rules M01 to M13 apply to .tflite "
                     "files, rules of Q/DQ nodes (E, P, A, D) do not");
  }
}

std::string repairs_text(const std::string& path, const io::LintFix& fix) {
  if (path.empty()) return "";
  std::string text =
      fmt::format("{}: {} {}\n", path, fix.repairs.size(),
                  fix.repairs.size() == 1 ? "repair" : "repairs");
  for (const io::LintRepair& repair : fix.repairs) {
    text += fmt::format("  {} {}: {}\n", repair.id, repair.node, repair.what);
  }
  return text + "\n";
}

/// Counts infos; shows them only if `all`.
std::string report_text(const io::LintReport& report, bool all) {
  const int64_t infos = report.count(io::LintSeverity::info);
  if (all || infos == 0) return report.to_string();
  return report.to_string(io::LintSeverity::warning) +
         fmt::format("{} {} not shown: --all\n", infos,
                     infos == 1 ? "info" : "infos");
}

std::string json_text(const io::LintReport& report, const io::LintFix& fix) {
  Config config = io::to_config(report);
  if (!fix.bytes.empty()) {
    Config::List repairs;
    for (const io::LintRepair& repair : fix.repairs) {
      repairs.push_back(Config::Object{
          {"id", repair.id}, {"node", repair.node}, {"what", repair.what}});
    }
    config.set("repairs", std::move(repairs));
  }
  return io::to_json(config) + "\n";
}

/// Prints a report. Throws: FormatError if it has errors.
void finish(const io::LintReport& report, const io::LintFix& fix,
            const LintCommand& o) {
  print(o.json ? json_text(report, fix)
               : repairs_text(o.fix, fix) + report_text(report, o.all));
  const int64_t errors = report.count(io::LintSeverity::error);
  if (errors == 0) return;
  throw FormatError(
      "unsupported_model", o.file,
      fmt::format("{} {} for {}", errors, errors == 1 ? "error" : "errors",
                  report.target));
}

}  // namespace

void add_lint(CommandLine& program) {
  const auto options = std::make_shared<LintCommand>();
  Command command = program.add_command(
      "lint",
      "Check a quantized ONNX or .tflite file for problems on its target "
      "runtime");
  command.add("file", options->file, "ONNX or .tflite file of any exporter");
  command.begin_group("Input");
  command
      .add(
          "--target", options->target,
          "runtime that will execute the file (default: tensorrt10; tflite for "
          "a .tflite file)")
      .type(
          "tensorrt8|tensorrt10|tensorrt11|tensorrt_rtx|onnxruntime|openvino|"
          "tflite");
  command
      .add("--data", options->data,
           "samples float32 [N,...] in the file's layout, to measure layer "
           "errors and find oversized scales")
      .type("X.npy");
  command.begin_group("Output");
  command
      .add("--fix", options->fix,
           "write and check a repaired file (repairs without training only)")
      .type("OUT.onnx")
      .writes({".onnx"}, OtherNames::unknown);
  command.add_flag("--all", options->all,
                   "also show findings of severity info");
  command.add_flag("--json", options->json, "print all findings as JSON");
  command.add_flag("--rules", options->rules, "list the rules and exit");
  command.set_footer(R"(
Reports constructs that the runtime rejects or runs slowly, and the layers it
runs in INT8. The exit code is 1 if there are errors.

Examples:
  octet lint int8.onnx
  octet lint int8.onnx --target tensorrt8 --json
  octet lint int8.onnx --data x_nchw.npy
  octet lint int8.onnx --fix repaired.onnx
  octet lint int8.onnx --target openvino
  octet lint int8.tflite
)");
  command.when_chosen([options] {
    if (options->rules) return print(rules_text());
    if (options->file.empty()) {
      throw UsageError("missing_value", "file",
                       "missing file (ONNX or .tflite file of any exporter)");
    }
    if (is_tflite_file(options->file)) {
      check_tflite_options(*options);
      return finish(io::lint_tflite(options->file), {}, *options);
    }
    const io::LintOptions lint_options{
        .target = as_option("--target",
                            [&] {
                              return io::target_named(
                                  options->target.value_or("tensorrt10"));
                            }),
        .samples =
            options->data.empty() ? Tensor() : io::read_npy(options->data)};
    if (!options->fix.empty()) check_output(options->fix);
    const io::LintFix fix = options->fix.empty()
                                ? io::LintFix()
                                : io::fix_onnx(options->file, lint_options);
    const io::LintReport report =
        options->fix.empty() ? io::lint_onnx(options->file, lint_options)
                             : io::lint_onnx_bytes(fix.bytes, lint_options);
    if (!options->fix.empty()) write_file(options->fix, fix.bytes);
    finish(report, fix, *options);
  });
}

}  // namespace octet::program
