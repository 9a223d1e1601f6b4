// Text of TransformReport.
#include <algorithm>

#include <fmt/format.h>

#include <octet/quant/patterns.h>
#include <octet/runtime/detail/text_table.h>

namespace octet::quant {
namespace {

// Layers with the same cause.
struct Line {
  std::string name;
  std::string reason;
  std::vector<std::string> layers;
};

void add(std::vector<Line>& lines, const std::string& name,
         const std::string& reason, const std::string& layer) {
  const auto found = std::ranges::find_if(lines, [&](const Line& line) {
    return line.name == name && line.reason == reason;
  });
  Line& line = found != lines.end()
                   ? *found
                   : lines.emplace_back(Line{name, reason, {}});
  line.layers.push_back(layer);
}

std::string layers_text(const std::vector<std::string>& layers) {
  constexpr size_t kShown = 3;
  if (layers.size() <= kShown)
    return fmt::format("{}", fmt::join(layers, ", "));
  return fmt::format("{}, ... ({} in all)",
                     fmt::join(layers.begin(), layers.begin() + kShown, ", "),
                     layers.size());
}

}  // namespace

std::string TransformReport::to_string() const {
  std::vector<Line> lines;
  for (const Converted& each : conversions) {
    add(lines, each.conversion, "converted", each.layer);
  }
  for (const Skipped& each : skipped) {
    add(lines, each.name.empty() ? "-" : each.name, each.reason, each.layer);
  }
  TextTable table({Align::left, Align::right, Align::right});
  table.add_row({"pattern", "applied", "skipped"});
  for (const Count& count : patterns) {
    table.add_row({count.pattern, fmt::format("{}", count.applied),
                   fmt::format("{}", count.skipped)});
  }
  for (const Line& line : lines) {
    table.add_row({line.name, fmt::format("{}: {}", line.reason,
                                          layers_text(line.layers))});
  }
  return table.to_string();
}

}  // namespace octet::quant
