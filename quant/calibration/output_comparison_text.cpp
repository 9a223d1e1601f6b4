// OutputComparison: thresholds and text.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <octet/quant/sensitivity.h>

#include "calibration/signal_noise.h"

namespace octet::quant {
namespace {

// False for NaN.
bool reaches(double decibels, double least) { return decibels >= least; }

bool agrees(const OutputLoss& loss, const OutputComparisonOptions& thresholds) {
  return !loss.agreement || loss.disagreements < 2 ||
         *loss.agreement >= thresholds.min_agreement;
}

// NaN counts as the least value.
double least_of(const std::vector<OutputLoss>& outputs,
                double OutputLoss::*figure) {
  double least = std::numeric_limits<double>::infinity();
  for (const OutputLoss& loss : outputs) {
    if (!(loss.*figure >= least)) least = loss.*figure;
  }
  return least;
}

std::string figures(const OutputLoss& loss) {
  std::string text =
      fmt::format("SQNR {}, median of the samples {}", decibels_text(loss.sqnr),
                  decibels_text(loss.median_sqnr));
  if (loss.agreement) {
    text += fmt::format(", top-1 agreement {:.2f} %", 100 * *loss.agreement);
  }
  return text;
}

}  // namespace

double OutputComparison::sqnr() const {
  return least_of(outputs, &OutputLoss::sqnr);
}

double OutputComparison::median_sqnr() const {
  return least_of(outputs, &OutputLoss::median_sqnr);
}

std::optional<double> OutputComparison::agreement() const {
  std::optional<double> lowest;
  for (const OutputLoss& loss : outputs) {
    if (loss.agreement && (!lowest || *loss.agreement < *lowest)) {
      lowest = loss.agreement;
    }
  }
  return lowest;
}

bool OutputComparison::sufficient() const { return problems().empty(); }

std::string OutputComparison::problems() const {
  std::string text;
  const auto add = [&](const OutputLoss& loss, const std::string& problem) {
    text += fmt::format("{}output '{}' has {}", text.empty() ? "" : "; ",
                        loss.output, problem);
  };
  for (const OutputLoss& loss : outputs) {
    if (!reaches(loss.sqnr, thresholds.min_sqnr)) {
      add(loss, fmt::format("an SQNR of {}, below {:g} dB",
                            decibels_text(loss.sqnr), thresholds.min_sqnr));
    } else if (!reaches(loss.median_sqnr, thresholds.min_sqnr)) {
      add(loss,
          fmt::format("a median SQNR of {}, below {:g} dB",
                      decibels_text(loss.median_sqnr), thresholds.min_sqnr));
    }
    if (!agrees(loss, thresholds)) {
      add(loss,
          fmt::format("the float model's class in {:.2f} % of the "
                      "samples, below {:g} %",
                      100 * *loss.agreement, 100 * thresholds.min_agreement));
    }
  }
  return text;
}

std::string OutputComparison::to_string() const {
  if (outputs.size() == 1) return figures(outputs[0]);
  std::string text;
  for (const OutputLoss& loss : outputs) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : "\n", loss.output,
                        figures(loss));
  }
  return text;
}

}  // namespace octet::quant
