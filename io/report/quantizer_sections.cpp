// Report sections about quantizers: findings, sensitivity, oscillations.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <octet/runtime/detail/text_table.h>

#include "drawing/markup.h"
#include "sections.h"
#include "tables.h"

namespace octet::io {
namespace {

std::string percent(double share) {
  return fmt::format("{:.3g} %", 100 * share);
}

std::string decibels(std::optional<double> sqnr) {
  return sqnr ? decibels_text(*sqnr) : "";
}

}  // namespace

std::string fault_section(const Report& report) {
  if (!report.findings) return "";
  if (report.findings->empty()) {
    return "<p>No problems: scales are finite, no channel is dead, "
           "values rarely exceed the range.</p>\n";
  }
  std::string rows;
  for (const quant::QuantizerFinding& each : *report.findings) {
    rows += "<tr>" + cell(each.quantizer) + cell(to_string(each.fault)) +
            number(percent(each.share)) + cell(each.text) + "</tr>\n";
  }
  return table({"quantizer", "fault", "#share", "description"}, rows);
}

std::string sensitivity_section(const Report& report) {
  if (!report.sensitivity) return "";
  const quant::Sensitivity& s = *report.sensitivity;
  const std::string text = s.blame();
  const bool rise = std::ranges::any_of(
      s.layers, [](const auto& layer) { return layer.loss_rise.has_value(); });
  std::string rows;
  for (const quant::LayerSensitivity& layer : s.by_sqnr()) {
    rows += "<tr>" + cell(layer.layer) + number(decibels(layer.alone.sqnr)) +
            number(decibels(layer.weights)) +
            number(decibels(layer.activations)) +
            number(decibels(layer.without.sqnr));
    if (rise) {
      rows += number(layer.loss_rise ? fmt::format("{:+.2g}", *layer.loss_rise)
                                     : "");
    }
    rows += "</tr>\n";
  }
  std::vector<std::string_view> heading = {"layer", "#alone", "#weights",
                                           "#activations", "#all others"};
  if (rise) heading.emplace_back("#loss");
  return fmt::format(
             "<p><b>{}</b></p>\n<p>SQNR of the outputs on {} samples, with "
             "Q/DQ at this layer only (also separately: its weights, its "
             "activations) and at all other layers{}.</p>\n",
             markup_text(text.substr(0, text.find('\n'))),
             group_digits(s.samples),
             rise ? "; loss: increase of the cross-entropy by rounding the "
                    "weights, estimated from gradients"
                  : "") +
         table(heading, rows);
}

std::string oscillation_section(const Report& report) {
  if (report.oscillations.empty()) return "";
  std::string rows;
  for (const train::OscillationShare& each : report.oscillations) {
    const auto share = [&](int64_t count) {
      return percent(static_cast<double>(count) /
                     static_cast<double>(std::max<int64_t>(1, each.weights)));
    };
    rows += "<tr>" + cell(each.quantizer) + number(group_digits(each.weights)) +
            number(share(each.oscillating)) + number(share(each.frozen)) +
            "</tr>\n";
  }
  return "<p>Weights that oscillated between two quantized values at the end "
         "of training, and frozen weights.</p>\n" +
         table({"quantizer", "#weights", "#oscillating", "#frozen"}, rows);
}

}  // namespace octet::io
