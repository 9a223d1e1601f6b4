// A lint report as text and as JSON.
#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/io/lint.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/detail/text_table.h>
#include <octet/runtime/error.h>

#include "printable.h"

namespace octet::io {
namespace {

// to_string(precision) for INT8 or FP8.
std::string precision_text(LayerPrecision precision, bool fp8) {
  std::string text(to_string(precision));
  for (size_t at; fp8 && (at = text.find("INT8")) != text.npos;) {
    text.replace(at, 4, "FP8");
  }
  return text;
}

/// Findings listed for each rule.
constexpr size_t kTold = 5;

std::string_view text_of_rule(const std::string& id) {
  for (const auto rules : {lint_rules(), tflite_lint_rules()}) {
    const auto rule = std::ranges::find(rules, id, &LintRule::id);
    if (rule != rules.end()) return rule->text;
  }
  return {};
}

// Lists findings by rule, with a common fix hint.
std::string findings_text(const std::vector<LintFinding>& findings) {
  std::string text;
  for (auto at = findings.begin(); at != findings.end();) {
    const auto end = std::find_if(at, findings.end(), [&](const auto& other) {
      return other.id != at->id || other.hint != at->hint;
    });
    text += fmt::format("{} {}: {}\n", at->id, io::to_string(at->severity),
                        text_of_rule(at->id));
    const auto count = static_cast<size_t>(end - at);
    const size_t told = count > kTold + 1 ? kTold : count;
    for (auto one = at; one != at + static_cast<std::ptrdiff_t>(told); ++one) {
      text += one->node.empty()
                  ? fmt::format("    {}\n", printable(one->reason, 300))
                  : fmt::format("    {}: {}\n", printable(one->node, 100),
                                printable(one->reason, 300));
    }
    if (told < count) text += fmt::format("    and {} more\n", count - told);
    text += fmt::format("  fix: {}\n", at->hint);
    at = end;
  }
  return text;
}

std::string layers_text(const std::vector<LayerForecast>& layers) {
  TextTable table({Align::left, Align::left, Align::left, Align::left});
  table.add_row({"layer", "runs", "kernel", "why"}, "  ");
  table.add_rule("  ");
  for (const LayerForecast& layer : layers) {
    table.add_row(
        {printable(layer.node, 50), precision_text(layer.precision, layer.fp8),
         layer.group, printable(layer.reason, 120)},
        "  ");
  }
  return table.to_string();
}

// The number of layers of each precision.
std::string totals_text(const std::vector<LayerForecast>& layers) {
  std::map<std::pair<LayerPrecision, bool>, int64_t> counts;
  for (const LayerForecast& layer : layers) {
    ++counts[{layer.precision, layer.fp8}];
  }
  const bool fp8 = std::ranges::any_of(layers, &LayerForecast::fp8);
  const bool int8 = !fp8 || counts[{LayerPrecision::int8, false}] > 0 ||
                    counts[{LayerPrecision::int8_to_float, false}] > 0;
  std::string text;
  for (const bool is_fp8 : {false, true}) {
    if (!(is_fp8 ? fp8 : int8)) continue;
    for (const LayerPrecision precision :
         {LayerPrecision::int8, LayerPrecision::int8_to_float}) {
      text += fmt::format("{} {}; ", counts[{precision, is_fp8}],
                          precision_text(precision, is_fp8));
    }
  }
  return text + fmt::format("{} {}\n",
                            counts[{LayerPrecision::floating, false}],
                            to_string(LayerPrecision::floating));
}

}  // namespace

std::string_view to_string(LintSeverity severity) {
  constexpr std::array<std::string_view, 3> kNames = {"info", "warning",
                                                      "error"};
  return kNames[static_cast<size_t>(severity)];
}

std::string_view to_string(LayerPrecision precision) {
  constexpr std::array<std::string_view, 3> kNames = {"FP", "INT8 in, FP out",
                                                      "INT8 in, INT8 out"};
  return kNames[static_cast<size_t>(precision)];
}

std::string LintReport::to_string() const {
  return to_string(LintSeverity::info);
}

std::string LintReport::to_string(LintSeverity least) const {
  std::vector<LintFinding> shown;
  std::ranges::copy_if(
      findings, std::back_inserter(shown),
      [&](const LintFinding& each) { return each.severity >= least; });
  std::string text = findings_text(shown);
  if (!incomplete.empty()) {
    text += fmt::format("\nThe other rules were not checked: {}\n", incomplete);
  }
  if (!layers.empty()) {
    text += fmt::format("{}Expected execution by {}\n{}",
                        text.empty() ? "" : "\n", target, layers_text(layers));
    text += "\n" + totals_text(layers);
  }
  return text + fmt::format("{} errors, {} warnings, {} infos for {}\n",
                            count(LintSeverity::error),
                            count(LintSeverity::warning),
                            count(LintSeverity::info), target);
}

Config to_config(const LintReport& report) {
  Config::List findings, layers;
  for (const LintFinding& finding : report.findings) {
    findings.push_back(
        Config::Object{{"id", finding.id},
                       {"severity", std::string(to_string(finding.severity))},
                       {"node", finding.node},
                       {"reason", finding.reason},
                       {"cure", finding.hint}});
  }
  for (const LayerForecast& layer : report.layers) {
    layers.push_back(Config::Object{
        {"node", layer.node},
        {"op", layer.op},
        {"precision", precision_text(layer.precision, layer.fp8)},
        {"group", layer.group},
        {"reason", layer.reason}});
  }
  return Config::Object{{"target", report.target},
                        {"errors", report.count(LintSeverity::error)},
                        {"warnings", report.count(LintSeverity::warning)},
                        {"infos", report.count(LintSeverity::info)},
                        {"incomplete", report.incomplete},
                        {"findings", std::move(findings)},
                        {"layers", std::move(layers)}};
}

}  // namespace octet::io
