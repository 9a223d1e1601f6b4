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
                  : fmt::format("{:#.4g}", value);
}

/// Share of elements whose quantized value differs.
std::string code_share(const ValueDifference& value) {
  return value.codes == 0
             ? ""
             : fmt::format("{:.2f} %", 100 * static_cast<double>(value.flips) /
                                           static_cast<double>(value.codes));
}

}  // namespace

std::string mebibytes(int64_t bytes) {
  return fmt::format("{:.2f} MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string count_text(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", group_digits(count), noun,
                     count == 1 ? "" : "s");
}

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
                                : fmt::format("{:+.2g}", change));
    }
    rows += "</tr>\n";
  }
  if (rows.empty()) return "";
  return two ? table({"metric", "#" + report.reference, "#" + report.model,
                      "#change"},
                     rows)
             : table({"metric", "#" + report.model}, rows);
}

std::string noise_section(const Report& report) {
  if (!report.comparison) return "";
  const ModelComparison& comparison = *report.comparison;
  constexpr double kFull = 60;  // end of the bars, in dB
  constexpr size_t kOpenRows = 40;
  const bool codes = std::ranges::any_of(
      comparison.values, [](const auto& value) { return value.codes > 0; });
  std::string rows;
  for (const ValueDifference& value : comparison.values) {
    rows +=
        "<tr>" + cell(value.is_output ? value.name + " (output)" : value.name) +
        fmt::format("<td class=\"n\">{}{}</td>", decibels_text(value.sqnr()),
                    bar(value.sqnr() / kFull)) +
        number(small_percent(value.added_noise())) +
        number(fmt::format("{:.3g}", value.max_error)) +
        (codes ? number(code_share(value)) : "") + cell(value.op) + "</tr>\n";
  }
  std::string html = fmt::format(
      "<p>Values of {} compared with {}, on {} samples. SQNR is the "
      "signal-to-quantization-noise ratio of the value; added noise is the "
      "layer's contribution beyond that of its inputs, relative to the value's "
      "power{}.</p>\n",
      markup_text(report.model), markup_text(report.reference),
      group_digits(comparison.samples),
      codes ? "; changed is the share of INT8 values that differ" : "");
  const std::vector<ValueDifference> worst = comparison.by_noise();
  if (!worst.empty() && worst[0].added_noise() > 0) {
    html +=
        fmt::format("<p>Most noise is added by <b>{}</b>: {} (orange).</p>\n",
                    markup_text(worst[0].name),
                    markup_text(small_percent(worst[0].added_noise())));
  }
  if (comparison.only_in_a + comparison.only_in_b > 0) {
    html += fmt::format(
        "<p class=\"quiet\">Not compared: {} values only in {}, {} only in "
        "{}.</p>\n",
        comparison.only_in_a, markup_text(report.reference),
        comparison.only_in_b, markup_text(report.model));
  }
  std::vector<std::string_view> heading = {"layer", "#SQNR", "#added noise",
                                           "#largest error"};
  if (codes) heading.emplace_back("#changed");
  heading.emplace_back("class");
  const std::string chart = sqnr_chart(comparison.values);
  if (!chart.empty()) {
    html += "<figure class=\"wide\" tabindex=\"0\">" + chart + "</figure>\n";
  }
  return html +
         details(fmt::format("Table of {} values", comparison.values.size()),
                 table(heading, rows), comparison.values.size() <= kOpenRows);
}

std::string activation_section(const Report& report) {
  if (report.activations.empty()) return "";
  constexpr size_t kOpen = 12;
  std::string html =
      "<p>Values at each Q/DQ point, counts on a logarithmic axis. Dashed "
      "lines mark the representable range; values in the shaded area beyond it "
      "are clipped.</p>\n";
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
  std::string html = fmt::format(
      "<p>{} on {} samples, {:.2f} % correct.</p>\n", markup_text(report.model),
      group_digits(confusion.samples()), 100 * confusion.accuracy());
  if (confusion.classes() <= kWhole) {
    return html +
           "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
           "aria-label=\"Confusion matrix\">" +
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
      "<p>For {}: {}, {}, {}. Of {} layers, {} are "
      "predicted to run in INT8, {} with INT8 input and floating-point output, "
      "{} in floating point.</p>\n",
      lint.target, count_text(lint.count(LintSeverity::error), "error"),
      count_text(lint.count(LintSeverity::warning), "warning"),
      count_text(lint.count(LintSeverity::info), "note"), lint.layers.size(),
      layers[LayerPrecision::int8], layers[LayerPrecision::int8_to_float],
      layers[LayerPrecision::floating]);
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
    html += table({"severity", "rule", "location and reason", "fix"}, rows);
  }
  std::string forecast;
  for (const LayerForecast& layer : lint.layers) {
    if (layer.precision == LayerPrecision::int8) continue;
    forecast += "<tr>" + cell(layer.node) + cell(to_string(layer.precision)) +
                cell(layer.group) + cell(layer.reason) + "</tr>\n";
  }
  if (forecast.empty()) return html;
  return html +
         details("Layers that are not fully INT8",
                 table({"layer", "precision", "kernel", "reason"}, forecast));
}

std::string speed_section(const Report& report) {
  if (report.speeds.empty()) return "";
  const double slowest = report.speeds.back().median_ms /
                         static_cast<double>(report.speeds.back().batch);
  std::string rows, all_steps;
  for (const ReportSpeed& speed : report.speeds) {
    const double batch = static_cast<double>(speed.batch);
    rows += "<tr>" + cell(speed.name) + number(group_digits(speed.batch)) +
            number(fmt::format("{:.3f} ms", speed.median_ms)) +
            number(fmt::format("{:.3f} ms", speed.p99_ms)) +
            number(fmt::format("{:.2f}x", slowest * batch / speed.median_ms)) +
            number(group_digits(std::llround(1e3 * batch / speed.median_ms))) +
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
      steps +=
          "<tr>" + cell(step.name) + cell(step.op) + cell(step.reads) +
          cell(step.stores) +
          number(fmt::format("{:.1f} \u00b5s", 1e6 * step.seconds)) +
          fmt::format("<td class=\"n\">{:.1f} %{}</td></tr>\n",
                      100 * step.seconds / total, bar(step.seconds / most));
    }
    all_steps += details(
        fmt::format("Time of the {} steps of {}", speed.steps.size(),
                    speed.name),
        table({"layer", "op", "inputs", "output", "#time", "#share"}, steps));
  }
  return "<p class=\"quiet\">Measured with Octet on this machine's CPU; a "
         "TensorRT engine has other latencies.</p>\n" +
         table({"model", "#batch", "#median", "#p99", "#speed", "#samples/s",
                "#weights", "#activations"},
               rows) +
         all_steps;
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
      keys += fmt::format("<span class=\"legend\">{}{}</span>\n", curve_key(i),
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
    return "<div class=\"tools\" role=\"group\" aria-label=\"Zoom\">"
           "<button type=\"button\" data-zoom=\"out\">Smaller</button>"
           "<button type=\"button\" data-zoom=\"in\">Larger</button>"
           "<button type=\"button\" data-zoom=\"fit\">Fit width</button>"
           "<button type=\"button\" data-zoom=\"actual\">100 %</button></div>"
           "<div class=\"graph\" tabindex=\"0\" role=\"region\" "
           "aria-label=\"Graph\">" +
           to_svg(*report.graph) + "</div>\n";
  } catch (const UnsupportedError&) {
    return "<p class=\"quiet\">The graph is too large to draw. Draw the output "
           "of octet graph --dot with Graphviz.</p>\n";
  }
}

}  // namespace octet::io
