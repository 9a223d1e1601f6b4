// to_html(): the page of a report.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <octet/io/report.h>
#include <octet/runtime/detail/text_table.h>
#include <octet/runtime/error.h>
#include <octet/runtime/system.h>

#include "assets.h"
#include "drawing/markup.h"
#include "sections.h"
#include "verdict.h"

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
  return samples == 0 ? "" : "on " + count_text(samples, "sample");
}

std::string score_tile(const Report& report) {
  const auto score =
      std::ranges::find_if(report.scores, &ReportScore::is_share);
  if (score == report.scores.end()) return "";
  std::string note;
  if (score->reference) {
    note = fmt::format("{:+.2f} points, ",
                       100 * (score->model - *score->reference));
  }
  return tile(score->name, fmt::format("{:.2f} %", 100 * score->model),
              note + sample_note(report.score_samples));
}

std::string speed_tiles(const Report& report) {
  if (report.speeds.empty()) return "";
  const ReportSpeed& model = report.speeds.front();
  const ReportSpeed& reference = report.speeds.back();
  const bool two = report.speeds.size() > 1;
  const auto note = [&](const std::string& value) {
    return two ? fmt::format("{} of {}", value, reference.name) : "";
  };
  return tile("latency", fmt::format("{:.3f} ms", model.median_ms),
              two ? note(fmt::format("{:.3f} ms", reference.median_ms))
                  : fmt::format("batch {}", model.batch)) +
         tile("weights in memory", mebibytes(model.weight_bytes),
              note(mebibytes(reference.weight_bytes)));
}

/// Key figures, in large type.
std::string tiles(const Report& report) {
  std::string html = score_tile(report);
  if (report.comparison) {
    const std::string note = sample_note(report.comparison->samples);
    html += tile("output SQNR", decibels_text(report.comparison->output_sqnr()),
                 note);
    if (report.comparison->agreement) {
      html += tile("top-1 agreement",
                   fmt::format("{:.2f} %", 100 * *report.comparison->agreement),
                   note);
    }
  }
  html += speed_tiles(report);
  if (report.lint) {
    html += tile(
        "lint", count_text(report.lint->count(LintSeverity::error), "error"),
        count_text(report.lint->count(LintSeverity::warning), "warning") +
            ", " + count_text(report.lint->count(LintSeverity::info), "note"));
  }
  return html.empty() ? "" : "<div class=\"tiles\">\n" + html + "</div>\n";
}

std::string verdict_text(const Report& report) {
  const Verdict verdict = verdict_of(report);
  const std::string_view level = to_string(verdict.level);
  const std::string_view word = verdict.level == VerdictLevel::good   ? "Good"
                                : verdict.level == VerdictLevel::fair ? "Fair"
                                : verdict.level == VerdictLevel::poor
                                    ? "Poor"
                                    : "No verdict";
  return fmt::format("<p class=\"verdict {}\"><b>{}:</b>{}</p>\n", level, word,
                     markup_text(verdict.text));
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
    html += "<p>Made by</p>\n<pre tabindex=\"0\">";
    for (const std::string& command : report.commands) {
      html += markup_text(command) + "\n";
    }
    html += "</pre>\n";
  }
  if (report.notes.empty()) return html;
  html += "<p>Notes</p>\n<ul>\n";
  for (const std::string& note : report.notes) {
    html += fmt::format("<li>{}</li>\n", markup_text(note));
  }
  return html + "</ul>\n";
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
  // The policy rules out requests, whatever the page contains.
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
      "'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<title>{0}</title>\n<style>{1}</style>\n</head>\n"
      "<body>\n<header>\n<p class=\"quiet\">Octet report</p>\n<h1>{0}</h1>\n"
      "{2}</header>\n<nav aria-label=\"Sections\">\n{3}</nav>\n<main>\n{4}{5}"
      "</main>\n<footer class=\"quiet\">\n<p>Made with octet {6}.</p>\n"
      "</footer>\n<script>{7}</script>\n</body>\n</html>\n",
      title, kReportStyle, verdict_text(report), nav, tiles(report), body,
      version(), kReportScript);
}

}  // namespace octet::io
