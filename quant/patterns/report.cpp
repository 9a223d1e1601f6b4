// TransformReport as text.
#include <algorithm>

#include <fmt/format.h>

#include <octet/quant/transform.h>

namespace octet::quant {
namespace {

// What happened for one cause, and to which layers.
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

template <class Name>
size_t widest(size_t least, const auto& list, Name name) {
  for (const auto& each : list) least = std::max(least, name(each).size());
  return least;
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
  size_t width = widest(
      7, patterns, [](const Count& c) -> const auto& { return c.pattern; });
  width = widest(
      width, lines, [](const Line& l) -> const auto& { return l.name; });
  std::string text =
      fmt::format("{:<{}}  applied  left out\n", "pattern", width);
  for (const Count& count : patterns) {
    text += fmt::format("{:<{}}  {:>7}  {:>8}\n", count.pattern, width,
                        count.applied, count.left_out);
  }
  for (const Line& line : lines) {
    text += fmt::format("{:<{}}  {}: {}\n", line.name, width, line.reason,
                        layers_text(line.layers));
  }
  return text;
}

}  // namespace octet::quant
