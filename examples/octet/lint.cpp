#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <octet/io/json.h>
#include <octet/io/lint.h>
#include <octet/io/npy.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>
#include <octet/runtime/text_table.h>

#include "../program.h"
#include "commands.h"

namespace octet::program {
namespace {

std::string rules_text() {
  TextTable table({Align::left, Align::left, Align::left, Align::left,
                   Align::left, Align::left, Align::left});
  table.add_row({"rule", "tensorrt8", "10", "11", "onnxruntime", "openvino",
                 "is kept if"});
  table.add_rule();
  for (const io::LintRule& rule : io::lint_rules()) {
    const std::string_view s = rule.severities;
    table.add_row({std::string(rule.id), std::string(1, s[0]),
                   std::string(1, s[1]), std::string(1, s[2]),
                   std::string(1, s[3]), std::string(1, s[4]),
                   std::string(rule.text)});
  }
  return table.to_string() + "E: error, W: warning, I: info\n";
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

/// Infos are counted, and shown only if all findings are asked for.
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

}  // namespace

void add_lint(CommandLine& program) {
  struct Options {
    std::string file;
    std::string target = "tensorrt10";
    std::string fix;
    std::string data;
    bool all = false;
    bool json = false;
    bool rules = false;
  };
  const auto options = std::make_shared<Options>();
  Command command = program.add_command(
      "lint",
      "Tell what a runtime will refuse or run slowly in a quantized ONNX file, "
      "and which layers it will run in INT8");
  command.add("file", options->file, "an ONNX file of any exporter");
  command
      .add("--target", options->target,
           "tensorrt8, tensorrt10, tensorrt11, onnxruntime or openvino "
           "[tensorrt10]")
      .type("NAME");
  command
      .add("--data", options->data,
           "samples in the layout of the file, float32 [N,...], to tell the "
           "error of each layer and scales that reach too far")
      .type("X.npy");
  command
      .add("--fix", options->fix,
           "write a repaired file, as far as that needs no training, and judge "
           "it instead")
      .type("OUT.onnx")
      .writes({".onnx"}, OtherNames::unknown);
  command.add_flag("--all", options->all,
                   "show infos as well as errors and warnings");
  command.add_flag("--json", options->json, "print JSON instead of text");
  command.add_flag("--rules", options->rules, "list the rules instead");
  command.set_footer(R"(Exit code 1 if there are errors. JSON has all findings.

Examples:
  octet lint int8.onnx
  octet lint int8.onnx --target tensorrt8 --json
  octet lint int8.onnx --data x_nchw.npy
  octet lint int8.onnx --fix repaired.onnx
  octet lint int8.onnx --target openvino
)");
  command.when_chosen([options] {
    if (options->rules) return print(rules_text());
    if (options->file.empty()) throw UsageError("expected an ONNX file");
    const io::LintOptions judge{.target = io::lint_target(options->target),
                                .samples = options->data.empty()
                                               ? Tensor()
                                               : io::read_npy(options->data)};
    if (!options->fix.empty()) check_output(options->fix);
    const io::LintFix fix = options->fix.empty()
                                ? io::LintFix()
                                : io::fix_onnx(options->file, judge);
    const io::LintReport report = options->fix.empty()
                                      ? io::lint_onnx(options->file, judge)
                                      : io::lint_onnx_bytes(fix.bytes, judge);
    if (!options->fix.empty()) write_file(options->fix, fix.bytes);
    print(options->json ? json_text(report, fix)
                        : repairs_text(options->fix, fix) +
                              report_text(report, options->all));
    const int64_t errors = report.count(io::LintSeverity::error);
    if (errors == 0) return;
    throw FormatError(fmt::format("'{}': {} {} for {}", options->file, errors,
                                  errors == 1 ? "error" : "errors",
                                  options->target));
  });
}

}  // namespace octet::program
