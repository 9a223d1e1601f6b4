// to_html(): the page of a report.
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <octet/io/report.h>
#include <octet/runtime/detail/text_table.h>
#include <octet/runtime/error.h>
#include <octet/runtime/system.h>

#include "drawing/markup.h"
#include "sections.h"
#include "style.h"

namespace octet::io {
namespace {

struct Section {
  std::string_view id;
  std::string_view title;
  std::string html;
};

std::string tile(std::string_view name, const std::string& value,
                 std::string_view note = {}) {
  return fmt::format("<div class=\"tile\">{}<b>{}</b>{}</div>\n",
                     markup_text(name), markup_text(value), markup_text(note));
}

/// "on 64 samples"; empty if their number is unknown.
std::string sample_note(int64_t samples) {
  return samples == 0 ? ""
                      : fmt::format("on {} {}", group_digits(samples),
                                    samples == 1 ? "sample" : "samples");
}

/// Key figures, in large type.
std::string tiles(const Report& report) {
  std::string html;
  for (const ReportScore& score : report.scores) {
    if (!score.is_share) continue;
    std::string value = fmt::format("{:.2f} %", 100 * score.model);
    if (score.reference) {
      value +=
          fmt::format(" ({:+.2f})", 100 * (score.model - *score.reference));
    }
    html += tile(score.name, value, sample_note(report.score_samples));
    break;
  }
  if (report.comparison) {
    const std::string note = sample_note(report.comparison->samples);
    html += tile("SQNR of the outputs",
                 decibels_text(report.comparison->output_sqnr()), note);
    if (report.comparison->agreement) {
      html += tile("top-1 agreement with " + report.reference,
                   fmt::format("{:.2f} %", 100 * *report.comparison->agreement),
                   note);
    }
  }
  if (report.lint) {
    html +=
        tile("lint", fmt::format("{} errors, {} warnings",
                                 report.lint->count(LintSeverity::error),
                                 report.lint->count(LintSeverity::warning)));
  }
  if (!report.speeds.empty()) {
    html += tile("latency of " + report.speeds[0].name,
                 fmt::format("{:.3f} ms", report.speeds[0].median_ms));
  }
  return html.empty() ? "" : "<div class=\"tiles\">\n" + html + "</div>\n";
}

std::string summary_section(const Report& report) {
  std::string html;
  if (!report.facts.empty()) {
    html += "<table class=\"facts\"><tbody>\n";
    for (const auto& [name, value] : report.facts) {
      html += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n",
                          markup_text(name), markup_text(value));
    }
    html += "</tbody></table>\n";
  }
  if (!report.commands.empty()) {
    html += "<p>Made by</p>\n<pre>";
    for (const std::string& command : report.commands) {
      html += markup_text(command) + "\n";
    }
    html += "</pre>\n";
  }
  for (const std::string& note : report.notes) {
    html += fmt::format("<p class=\"quiet\">{}</p>\n", markup_text(note));
  }
  return html;
}

void check(const Report& report) {
  if (report.classes.empty() || !report.confusion) return;
  const int64_t classes = report.confusion->classes();
  if (std::ssize(report.classes) != classes) {
    throw ValueError("count_mismatch", "report classes",
                     fmt::format("number of class names must be {}, got {}",
                                 classes, report.classes.size()));
  }
}

}  // namespace

std::string to_html(const Report& report) {
  check(report);
  const std::vector<Section> sections = {
      {"summary", "Summary", summary_section(report)},
      {"accuracy", "Accuracy", accuracy_section(report)},
      {"confusion", "Confusion matrix", confusion_section(report)},
      {"noise", "Noise per layer", noise_section(report)},
      {"activations", "Activations", activation_section(report)},
      {"quantizers", "Quantizer findings", fault_section(report)},
      {"sensitivity", "Sensitivity", sensitivity_section(report)},
      {"oscillations", "Oscillating weights", oscillation_section(report)},
      {"lint", "Lint", lint_section(report)},
      {"latency", "Latency", speed_section(report)},
      {"training", "Training", curve_section(report)},
      {"graph", "Graph", graph_section(report)},
  };
  const std::string title = markup_text(report.title);
  std::string nav, body;
  for (const Section& section : sections) {
    if (section.html.empty()) continue;
    nav += fmt::format("<a href=\"#{}\">{}</a>\n", section.id, section.title);
    body += fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}</section>\n",
                        section.id, section.title, section.html);
  }
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<title>{0}</title>\n<style>{1}</style>\n</head>\n"
      "<body>\n<main>\n<h1>{0}</h1>\n<p class=\"quiet\">octet {2}</p>\n"
      "<nav>\n{3}</nav>\n{4}{5}</main>\n</body>\n</html>\n",
      title, kReportStyle, version(), nav, tiles(report), body);
}

}  // namespace octet::io
