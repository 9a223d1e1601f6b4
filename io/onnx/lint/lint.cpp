// lint_onnx(): loads a file and applies all groups of rules.
#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <octet/io/lint.h>
#include <octet/runtime/error.h>

#include "file_kind.h"
#include "foreign_errors.h"
#include "limit_checks.h"
#include "onnx/check/check.h"
#include "onnx/check/external.h"
#include "onnx/check/proto_limits.h"
#include "onnx/graph/qdq.h"
#include "rules.h"

namespace octet::io {
namespace {

LintReport checked(onnx::ModelProto model, const LintOptions& options) {
  const Target target = options.target;
  LintReport report{.target = std::string(to_string(target))};
  lint::Findings findings(target);
  lint::check_as_stored(model, findings);
  try {
    check_onnx_without_qdq(model);
  } catch (const Error& error) {
    if (findings.empty()) throw;
    report.incomplete = error.message();
    report.findings = findings.sorted();
    return report;
  }
  const lint::LintGraph graph(std::move(model));
  for (const auto check :
       {lint::check_quantizers, lint::check_operands, lint::check_layers,
        lint::check_merges, lint::check_pairs, lint::check_accuracy,
        lint::check_deployment, lint::check_openvino}) {
    check(graph, findings);
  }
  if (!options.samples.empty()) {
    check_qdq(graph);  // invalid pairs cannot run
    lint::check_samples(graph, options.samples, options.limits, findings);
  }
  report.findings = findings.sorted();
  report.layers = lint::forecast(graph, target);
  return report;
}

}  // namespace

onnx::ModelProto lint::read_as_stored(const std::filesystem::path& path,
                                      int64_t limit) {
  onnx::ModelProto model = parse_onnx(read_file_as(kOnnxFile, path));
  read_external_data(model, path.parent_path(), limit);
  return model;
}

LintReport lint_onnx(const std::filesystem::path& path,
                     const LintOptions& options) {
  check_limits(options.limits);
  lint::expect_runtime(options.target);
  return with_context(
      [&] { return fmt::format("in file '{}'", path.string()); },
      [&] {
        return without_foreign_errors("ONNX model", [&] {
          return checked(
              lint::read_as_stored(path, options.limits.memory_limit), options);
        });
      });
}

LintReport lint_onnx_bytes(const std::string& bytes,
                           const LintOptions& options) {
  check_limits(options.limits);
  lint::expect_runtime(options.target);
  return without_foreign_errors(
      "ONNX model", [&] { return checked(parse_onnx(bytes), options); });
}

int64_t LintReport::count(LintSeverity severity) const {
  return std::ranges::count(findings, severity, &LintFinding::severity);
}

}  // namespace octet::io
