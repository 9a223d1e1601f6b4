// Text of the result.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <octet/quant/autotune.h>
#include <octet/runtime/detail/text_table.h>

#include "autotune/measurements.h"

namespace octet::quant {
namespace {

std::string against(const LatencyRatio& ratio) {
  return fmt::format("x {:.2f} +- {:.2f}", ratio.ratio, ratio.noise);
}

/// Returns "conv1 to relu2, 5 layers" of the first region.
std::string range_text(const TunedPattern& pattern) {
  const std::vector<std::string>& layers = pattern.regions.at(0);
  if (layers.size() == 1) return layers[0];
  return fmt::format("{} to {}, {} layers", layers.front(), layers.back(),
                     layers.size());
}

std::string latency_of(const TunedPattern& pattern, const char* scheme) {
  for (const TunedScheme& measured : pattern.schemes) {
    if (measured.name == scheme && measured.error.empty()) {
      return milliseconds_text(measured.latency);
    }
  }
  return "";
}

}  // namespace

std::string_view to_string(TunedModel model) {
  constexpr std::array<std::string_view, 3> kNames = {"tuned", "planned",
                                                      "float"};
  return kNames[static_cast<size_t>(model)];
}

std::string Tuned::to_string() const {
  TextTable table(
      {Align::right, Align::left, Align::right, Align::right, Align::left});
  table.add_row({"regions", "first region", "float", "planned", "decision"});
  table.add_rule();
  for (const TunedPattern& pattern : patterns) {
    table.add_row({fmt::format("{}", pattern.regions.size()),
                   range_text(pattern), latency_of(pattern, "float"),
                   latency_of(pattern, "planned"), pattern.reason});
  }
  std::string text =
      fmt::format("selected: {}, {}\n  planned {}, {}\n  float   {}, {}\n",
                  quant::to_string(selected), milliseconds_text(latency),
                  milliseconds_text(planned_latency), against(to_planned),
                  milliseconds_text(float_latency), against(to_float));
  if (!note.empty()) text += note + "\n";
  constexpr double kMuchNoise = 0.1;
  if (std::max(to_planned.noise, to_float.noise) > kMuchNoise) {
    text +=
        "the latencies are noisy: repeat on an idle machine, or with more "
        "rounds\n";
  }
  return patterns.empty() ? text
                          : fmt::format("{}\n{}", text, table.to_string());
}

}  // namespace octet::quant
