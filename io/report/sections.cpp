#include "sections.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include <octet/runtime/detail/text_table.h>
#include <octet/runtime/error.h>

#include "charts.h"
#include "drawing/markup.h"
#include "tables.h"

namespace octet::io {
namespace {

std::string score_text(double value, bool is_share) {
  return is_share ? fmt::format("{:.2f} %", 100 * value)
                  : fmt::format("{:.4g}", value);
}

std::string mebibytes(int64_t bytes) {
  return fmt::format("{:.2f} MiB", static_cast<double>(bytes) / (1 << 20));
}

/// Share of elements whose quantized value differs.
std::string code_share(const ValueDifference& value) {
  return value.codes == 0
             ? ""
             : fmt::format("{:.2f} %", 100 * static_cast<double>(value.flips) /
                                           static_cast<double>(value.codes));
}

}  // namespace

std::string decibels_text(double sqnr) {
  return std::isinf(sqnr) && sqnr > 0 ? "equal"
                                      : fmt::format("{:.1f} dB", sqnr);
}

std::string accuracy_section(const Report& report) {
  std::string rows;
  const bool two = std::ranges::any_of(report.scores, [](const auto& score) {
    return score.reference.has_value();
  });
  for (const ReportScore& score : report.scores) {
    rows += "<tr>" + cell(score.name);
    if (two) {
      rows += number(
          score.reference ? score_text(*score.reference, score.is_share) : "");
    }
    rows += number(score_text(score.model, score.is_share));
    if (two) {
      const double change = score.model - score.reference.value_or(score.model);
      rows +=
          number(score.is_share ? fmt::format("{:+.2f} points", 100 * change)
                                : fmt::format("{:+.4g}", change));
    }
    rows += "</tr>\n";
  }
  if (rows.empty()) return "";
  return two ? table(
                   {"", "#" + report.reference, "#" + report.model, "#change"},
                   rows)
             : table({"", "#" + report.model}, rows);
}

std::string noise_section(const Report& report) {
  if (!report.comparison) return "";
  const ModelComparison& comparison = *report.comparison;
  // End of the decibel bars.
  constexpr double kFull = 60;
  const bool codes = std::ranges::any_of(
      comparison.values, [](const auto& value) { return value.codes > 0; });
  std::string rows;
  for (const ValueDifference& value : comparison.values) {
    rows +=
        "<tr>" + cell(value.is_output ? value.name + " (output)" : value.name) +
        number(decibels_text(value.sqnr())) + "<td>" +
        bar(value.sqnr() / kFull) + "</td>" +
        number(fmt::format("{:.3g} %", 100 * value.added_noise())) +
        number(fmt::format("{:.3g}", value.max_error)) +
        (codes ? number(code_share(value)) : "") + cell(value.op) + "</tr>\n";
  }
  std::string html = fmt::format(
      "<p>Values of {} compared with {}, on {} samples. SQNR is the "
      "signal-to-quantization-noise ratio of the value; added noise is the "
      "layer's contribution beyond that of its inputs, relative to the value's "
      "power; bars end at {:.0f} dB.</p>\n",
      markup_text(report.model), markup_text(report.reference),
      comparison.samples, kFull);
  const std::vector<ValueDifference> worst = comparison.by_noise();
  if (!worst.empty() && worst[0].added_noise() > 0) {
    html +=
        fmt::format("<p>Most noise is added by <b>{}</b>: {:.3g} %.</p>\n",
                    markup_text(worst[0].name), 100 * worst[0].added_noise());
  }
  if (comparison.only_in_a + comparison.only_in_b > 0) {
    html += fmt::format(
        "<p class=\"quiet\">Not compared: {} values only in {}, {} only in "
        "{}.</p>\n",
        comparison.only_in_a, markup_text(report.reference),
        comparison.only_in_b, markup_text(report.model));
  }
  std::vector<std::string_view> heading = {"layer", "#SQNR", "", "#added noise",
                                           "#largest error"};
  if (codes) heading.emplace_back("#other codes");
  heading.emplace_back("class");
  return html + table(heading, rows);
}

std::string activation_section(const Report& report) {
  if (report.activations.empty()) return "";
  constexpr size_t kOpen = 12;
  std::string html =
      "<p>Values at each Q/DQ point, counts on a logarithmic axis. Dashed "
      "lines mark the representable range; values beyond it are clipped.</p>\n";
  for (size_t i = 0; i < report.activations.size(); ++i) {
    const ActivationHistogram& h = report.activations[i];
    if (i == 0) html += "<div class=\"charts\">\n";
    if (i == kOpen) {
      html += fmt::format(
          "</div><details><summary>{} more</summary><div class=\"charts\">\n",
          report.activations.size() - kOpen);
    }
    html += fmt::format(
        "<figure><figcaption><b>{}</b><br>{}, scale {:.4g}, clipped "
        "{:.3g} %</figcaption>{}</figure>\n",
        markup_text(h.name), markup_text(h.codes), h.scale,
        h.values == 0 ? 0
                      : 100 * static_cast<double>(h.clipped) /
                            static_cast<double>(h.values),
        histogram_chart(h));
  }
  return html + (report.activations.size() > kOpen ? "</div></details>\n"
                                                   : "</div>\n");
}

std::string confusion_section(const Report& report) {
  if (!report.confusion) return "";
  constexpr int64_t kWhole = 24;
  constexpr size_t kTold = 20;
  const train::ConfusionMatrix& confusion = *report.confusion;
  std::string html = fmt::format("<p>{} on {} samples, {:.2f} % correct.</p>\n",
                                 markup_text(report.model), confusion.samples(),
                                 100 * confusion.accuracy());
  if (confusion.classes() <= kWhole) {
    return html + "<div class=\"scroll\">" +
           confusion_table(confusion, report.classes) + "</div>\n";
  }
  struct Mistake {
    int64_t count, actual, predicted;
  };
  std::vector<Mistake> mistakes;
  for (int64_t a = 0; a < confusion.classes(); ++a) {
    for (int64_t p = 0; p < confusion.classes(); ++p) {
      const int64_t count = confusion.count(a, p);
      if (a != p && count > 0) mistakes.push_back({count, a, p});
    }
  }
  std::ranges::stable_sort(mistakes, std::greater(), &Mistake::count);
  if (mistakes.size() > kTold) mistakes.resize(kTold);
  const auto name = [&](int64_t label) {
    return report.classes.empty() ? fmt::format("{}", label)
                                  : report.classes[static_cast<size_t>(label)];
  };
  std::string rows;
  for (const Mistake& mistake : mistakes) {
    rows += "<tr>" + cell(name(mistake.actual)) +
            cell(name(mistake.predicted)) +
            number(group_digits(mistake.count)) +
            number(fmt::format("{:.1f} %",
                               100 * confusion.recall(mistake.actual))) +
            "</tr>\n";
  }
  return html +
         fmt::format("<p>{} classes; the most frequent mistakes:</p>",
                     confusion.classes()) +
         table({"actual", "predicted", "#samples", "#recall of the actual"},
               rows);
}

std::string lint_section(const Report& report) {
  if (!report.lint) return "";
  constexpr size_t kTold = 5;
  const LintReport& lint = *report.lint;
  std::map<LayerPrecision, int> layers;
  for (const LayerForecast& layer : lint.layers) ++layers[layer.precision];
  std::string html = fmt::format(
      "<p>For {}: {} errors, {} warnings, {} notes. Of {} layers, {} are "
      "predicted to run in INT8, {} with INT8 input and floating-point output, "
      "{} in floating point.</p>\n",
      to_string(lint.target), lint.count(LintSeverity::error),
      lint.count(LintSeverity::warning), lint.count(LintSeverity::info),
      lint.layers.size(), layers[LayerPrecision::int8],
      layers[LayerPrecision::int8_to_float], layers[LayerPrecision::floating]);
  if (!lint.incomplete.empty()) {
    html += fmt::format("<p class=\"error\">Checked in part only: {}</p>\n",
                        markup_text(lint.incomplete));
  }
  std::string rows;
  for (auto at = lint.findings.begin(); at != lint.findings.end();) {
    const auto end = std::find_if(at, lint.findings.end(), [&](const auto& f) {
      return f.id != at->id || f.hint != at->hint;
    });
    std::string where;
    const auto count = static_cast<size_t>(end - at);
    for (size_t i = 0; i < std::min(count, kTold); ++i) {
      const LintFinding& finding = at[static_cast<std::ptrdiff_t>(i)];
      if (i > 0) where += "<br>";
      if (!finding.node.empty()) {
        where += fmt::format("<code>{}</code>: ", markup_text(finding.node));
      }
      where += markup_text(finding.reason);
    }
    if (count > kTold) where += fmt::format("<br>and {} more", count - kTold);
    const std::string_view severity = to_string(at->severity);
    rows += fmt::format(
        "<tr><td><span class=\"badge {0}\">{0}</span></td><td>{1}</td>"
        "<td>{2}</td>{3}</tr>\n",
        severity, markup_text(at->id), where, cell(at->hint));
    at = end;
  }
  if (!rows.empty()) {
    html += table({"", "rule", "location and reason", "fix"}, rows);
  }
  std::string forecast;
  for (const LayerForecast& layer : lint.layers) {
    if (layer.precision == LayerPrecision::int8) continue;
    forecast += "<tr>" + cell(layer.node) + cell(to_string(layer.precision)) +
                cell(layer.group) + cell(layer.reason) + "</tr>\n";
  }
  if (forecast.empty()) return html;
  return html + "<details><summary>Layers that are not fully INT8</summary>" +
         table({"layer", "precision", "kernel", "reason"}, forecast) +
         "</details>\n";
}

std::string speed_section(const Report& report) {
  if (report.speeds.empty()) return "";
  std::string rows, details;
  for (const ReportSpeed& speed : report.speeds) {
    rows +=
        "<tr>" + cell(speed.name) + number(fmt::format("{}", speed.batch)) +
        number(fmt::format("{:.3f} ms", speed.median_ms)) +
        number(fmt::format("{:.3f} ms", speed.p99_ms)) +
        number(fmt::format("{:.1f}", 1e3 * static_cast<double>(speed.batch) /
                                         speed.median_ms)) +
        number(mebibytes(speed.weight_bytes)) +
        number(mebibytes(speed.activation_bytes)) + "</tr>\n";
    double total = 0, most = 0;
    for (const ProgramStep& step : speed.steps) {
      total += step.seconds;
      most = std::max(most, step.seconds);
    }
    if (total <= 0) continue;
    std::string steps;
    for (const ProgramStep& step : speed.steps) {
      steps += "<tr>" + cell(step.name) + cell(step.op) + cell(step.reads) +
               cell(step.stores) +
               number(fmt::format("{:.1f}", 1e6 * step.seconds)) +
               number(fmt::format("{:.1f} %", 100 * step.seconds / total)) +
               "<td>" + bar(step.seconds / most) + "</td></tr>\n";
    }
    details +=
        fmt::format("<details><summary>Steps of {}</summary>",
                    markup_text(speed.name)) +
        table({"layer", "op", "inputs", "output", "#us", "#share", ""}, steps) +
        "</details>\n";
  }
  return "<p class=\"quiet\">Measured with Octet on this machine's CPU; a "
         "TensorRT engine has other latencies.</p>\n" +
         table({"", "#batch", "#median", "#p99", "#samples/s", "#weights",
                "#activations"},
               rows) +
         details;
}

std::string curve_section(const Report& report) {
  std::vector<std::pair<std::string, std::vector<ReportCurve>>> groups;
  for (const ReportCurve& curve : report.curves) {
    const bool validation = curve.name.starts_with("val_");
    const std::string base = curve.name.substr(validation ? 4 : 0);
    auto group = std::ranges::find(
        groups, base, [](const auto& g) -> const auto& { return g.first; });
    if (group == groups.end()) group = groups.insert(groups.end(), {base, {}});
    group->second.push_back(curve);
  }
  if (groups.empty()) return "";
  std::string html = "<div class=\"charts\">\n";
  for (const auto& [name, curves] : groups) {
    std::string keys;
    for (size_t i = 0; i < curves.size(); ++i) {
      keys += fmt::format("<span class=\"key key{}\"></span>{}", i % 4,
                          markup_text(curves[i].name));
    }
    html += fmt::format(
        "<figure><figcaption><b>{}</b> {}</figcaption>{}</figure>\n",
        markup_text(name), keys, curve_chart(curves));
  }
  return html + "</div>\n";
}

std::string graph_section(const Report& report) {
  if (!report.graph) return "";
  try {
    return "<details open><summary>Show or hide</summary><div "
           "class=\"graph\">" +
           to_svg(*report.graph) + "</div></details>\n";
  } catch (const UnsupportedError&) {
    return "<p class=\"quiet\">The graph is too large to draw. Draw the output "
           "of octet graph --dot with Graphviz.</p>\n";
  }
}

}  // namespace octet::io
