#include <memory>
#include <string>

#include <fmt/format.h>

#include <octet/io/json.h>
#include <octet/io/lint.h>
#include <octet/runtime/error.h>
#include <octet/runtime/text_table.h>

#include "../program.h"
#include "commands.h"

namespace octet::program {
namespace {

std::string rules_text() {
  TextTable table({Align::left, Align::left, Align::left, Align::left,
                   Align::left, Align::left});
  table.add_row({"rule", "tensorrt8", "10", "11", "onnxruntime", "is kept if"});
  table.add_rule();
  for (const io::LintRule& rule : io::lint_rules()) {
    const std::string_view s = rule.severities;
    table.add_row({std::string(rule.id), std::string(1, s[0]),
                   std::string(1, s[1]), std::string(1, s[2]),
                   std::string(1, s[3]), std::string(rule.text)});
  }
  return table.to_string() + "E: error, W: warning, I: info\n";
}

}  // namespace

void add_lint(CommandLine& program) {
  struct Options {
    std::string file;
    std::string target = "tensorrt10";
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
           "tensorrt8, tensorrt10, tensorrt11 or onnxruntime [tensorrt10]")
      .type("NAME");
  command.add_flag("--json", options->json, "print JSON instead of text");
  command.add_flag("--rules", options->rules, "list the rules instead");
  command.set_footer(R"(Exit code 1 if there are errors.

Examples:
  octet lint int8.onnx
  octet lint int8.onnx --target tensorrt8 --json
)");
  command.when_chosen([options] {
    if (options->rules) return print(rules_text());
    if (options->file.empty()) throw UsageError("expected an ONNX file");
    const io::LintReport report = io::lint_onnx(
        options->file, {.target = io::lint_target(options->target)});
    print(options->json ? io::to_json(io::to_config(report)) + "\n"
                        : report.to_string());
    const int64_t errors = report.count(io::LintSeverity::error);
    if (errors == 0) return;
    throw FormatError(fmt::format("'{}': {} {} for {}", options->file, errors,
                                  errors == 1 ? "error" : "errors",
                                  options->target));
  });
}

}  // namespace octet::program
