#include "verdict.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/detail/text_table.h>

#include "sections.h"

namespace octet::io {
namespace {

constexpr double kGoodShare = 0.99, kFairShare = 0.97;
constexpr int64_t kFewestSamples = 30;            // of a verdict by accuracy
constexpr double kGoodSqnr = 30, kFairSqnr = 20;  // dB

VerdictLevel level_of(double value, double good, double fair) {
  return value >= good   ? VerdictLevel::good
         : value >= fair ? VerdictLevel::fair
                         : VerdictLevel::poor;
}

std::string on_samples(int64_t samples) {
  return samples == 0 ? "" : " on " + count_text(samples, "sample");
}

/// Returns no verdict for few samples.
Verdict unless_few(int64_t samples, Verdict verdict) {
  if (samples == 0 || samples >= kFewestSamples) return verdict;
  return {VerdictLevel::open, verdict.text + ", too few for a verdict"};
}

/// Whether an accuracy is at most 1.5 times that of a random guess.
bool is_chance(const Report& report, double accuracy) {
  return report.confusion && report.confusion->classes() > 1 &&
         accuracy * static_cast<double>(report.confusion->classes()) <= 1.5;
}

Verdict by_score(const Report& report, const ReportScore& score) {
  const std::string samples = on_samples(report.score_samples);
  const double value = 100 * score.model;
  if (!score.reference) {
    return {VerdictLevel::open,
            fmt::format("{} has {:.2f} % {}{}", report.model, value, score.name,
                        samples)};
  }
  const double reference = 100 * *score.reference, change = value - reference;
  if (is_chance(report, *score.reference)) {
    return {VerdictLevel::open,
            fmt::format("{} has {:.2f} % {}{}, {} {:.2f} %: no better than a "
                        "random guess",
                        report.model, value, score.name, samples,
                        report.reference, reference)};
  }
  const VerdictLevel level =
      level_of(value, kGoodShare * reference, kFairShare * reference);
  return level == VerdictLevel::good
             ? Verdict{level,
                       fmt::format(
                           "{} keeps the {} of {}: {:.2f} % ({:+.2f} points){}",
                           report.model, score.name, report.reference, value,
                           change, samples)}
             : Verdict{level,
                       fmt::format("{} loses {:.2f} points of {}: {:.2f} "
                                   "% instead of {:.2f} % of {}{}",
                                   report.model, -change, score.name, value,
                                   reference, report.reference, samples)};
}

Verdict by_comparison(const Report& report) {
  const ModelComparison& comparison = *report.comparison;
  const std::string samples = on_samples(comparison.samples);
  const double sqnr = comparison.output_sqnr();
  if (comparison.agreement) {
    return unless_few(
        comparison.samples,
        {level_of(*comparison.agreement, kGoodShare, kFairShare),
         fmt::format("{} agrees with {} in {:.2f} % of the predictions{}",
                     report.model, report.reference,
                     100 * *comparison.agreement, samples)});
  }
  return {level_of(sqnr, kGoodSqnr, kFairSqnr),
          std::isinf(sqnr) && sqnr > 0
              ? fmt::format("outputs of {} equal those of {}{}", report.model,
                            report.reference, samples)
              : fmt::format("outputs of {} have {:.1f} dB SQNR against {}{}",
                            report.model, sqnr, report.reference, samples)};
}

Verdict by_outputs(const Report& report) {
  const auto share =
      std::ranges::find_if(report.scores, &ReportScore::is_share);
  const bool compared = report.comparison.has_value();
  if (share != report.scores.end() && (share->reference || !compared)) {
    return unless_few(report.score_samples, by_score(report, *share));
  }
  if (compared) return by_comparison(report);
  return {VerdictLevel::open,
          fmt::format("{} was compared with no other model", report.model)};
}

/// "1.90x as fast, weights 3.7x smaller"; empty for fewer than two models.
std::string gains(const Report& report) {
  if (report.speeds.size() < 2) return "";
  const ReportSpeed& model = report.speeds.front();
  const ReportSpeed& reference = report.speeds.back();
  const auto per_sample = [](const ReportSpeed& speed) {
    return speed.median_ms / static_cast<double>(speed.batch);
  };
  std::string text = fmt::format("; {:.2f}x as fast",
                                 per_sample(reference) / per_sample(model));
  if (model.weight_bytes <= 0) return text;
  const double smaller = static_cast<double>(reference.weight_bytes) /
                         static_cast<double>(model.weight_bytes);
  if (smaller > 1.05) text += fmt::format(", weights {:.1f}x smaller", smaller);
  return text;
}

}  // namespace

std::string_view to_string(VerdictLevel level) {
  switch (level) {
    case VerdictLevel::good:
      return "good";
    case VerdictLevel::fair:
      return "fair";
    case VerdictLevel::poor:
      return "poor";
    case VerdictLevel::open:
      break;
  }
  return "open";
}

Verdict verdict_of(const Report& report) {
  Verdict verdict = by_outputs(report);
  const auto at_best = [&](VerdictLevel level) {
    verdict.level = verdict.level == VerdictLevel::open
                        ? level
                        : std::max(verdict.level, level);
  };
  for (const ReportScore& score : report.scores) {
    if (std::isfinite(score.model)) continue;
    at_best(VerdictLevel::poor);
    verdict.text += fmt::format("; the {} is {}", score.name, score.model);
  }
  verdict.text += gains(report);
  if (report.findings && !report.findings->empty()) {
    at_best(VerdictLevel::fair);
    verdict.text +=
        "; " + count_text(std::ssize(*report.findings), "quantizer problem");
  }
  if (report.lint) {
    const int64_t errors = report.lint->count(LintSeverity::error);
    const int64_t warnings = report.lint->count(LintSeverity::warning);
    if (errors > 0) at_best(VerdictLevel::poor);
    if (warnings > 0) at_best(VerdictLevel::fair);
    verdict.text +=
        fmt::format("; {} and {} of lint for {}", count_text(errors, "error"),
                    count_text(warnings, "warning"), report.lint->target);
  }
  verdict.text += ".";
  return verdict;
}

}  // namespace octet::io
