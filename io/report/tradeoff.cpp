// Chart of a search: score against latency and size.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/io/report.h>

#include "drawing/markup.h"
#include "plot.h"

namespace octet::io {
namespace {

constexpr double kPanelWidth = 360, kPanelHeight = 230;

constexpr const char* kTradeoffStyle = R"(<style>
.panel { font: 11px sans-serif; fill: #555; }
.axis { stroke: #777; fill: none; }
.rule { stroke: #ddd; fill: none; }
.trial { fill: #8a8a8a; }
.front { fill: #1f6fb4; }
.selected { fill: #c8501e; stroke: #fff; }
.float { fill: none; stroke: #555; stroke-width: 1.5; }
.goal { stroke: #c8501e; stroke-dasharray: 4 3; fill: none; }
.line { stroke: #1f6fb4; stroke-width: 1.5; fill: none; }
@media (prefers-color-scheme: dark) {
  .panel { fill: #bbb; }
  .axis, .float { stroke: #aaa; }
  .rule { stroke: #444; }
}
</style>)";

using Cost = std::function<std::optional<double>(const quant::OptimizeTrial&)>;

/// A cost axis of the chart.
struct Panel {
  const char* title;
  Cost cost;
  std::optional<double> of_float, most;
};

double tradeoff_value(const quant::OptimizeTrial& trial, bool has_score) {
  return has_score ? 100 * trial.score.value_or(0) : trial.sqnr;
}

/// A closed interval that covers values, with a margin.
class Span {
 public:
  void add(std::optional<double> value) {
    if (!value || !std::isfinite(*value)) return;
    low_ = std::min(low_, *value);
    high_ = std::max(high_, *value);
  }
  bool empty() const { return !(low_ <= high_); }
  std::pair<double, double> padded() const {
    const double margin = high_ > low_ ? 0.08 * (high_ - low_)
                                       : std::max(0.05 * std::abs(high_), 1e-3);
    return {low_ - margin, high_ + margin};
  }

 private:
  double low_ = std::numeric_limits<double>::infinity(), high_ = -low_;
};

std::string tradeoff_panel(const quant::Optimized& found, const Panel& panel,
                           double left) {
  const bool has_score = found.float_score.has_value();
  const PlotFrame f{.width = kPanelWidth,
                    .height = kPanelHeight,
                    .left = 52,
                    .right = kPanelWidth - 14,
                    .top = 24,
                    .bottom = kPanelHeight - 40};
  Span costs, values;
  std::vector<size_t> shown;
  for (size_t i = 0; i < found.trials.size(); ++i) {
    const quant::OptimizeTrial& trial = found.trials[i];
    const auto cost = panel.cost(trial);
    const double value = tradeoff_value(trial, has_score);
    if (!trial.complete || !trial.error.empty() || !cost ||
        !std::isfinite(value)) {
      continue;
    }
    shown.push_back(i);
    costs.add(cost);
    values.add(value);
  }
  if (shown.empty()) return "";
  costs.add(panel.most);
  std::optional<double> float_value;
  if (has_score) float_value = 100 * *found.float_score;
  if (panel.of_float) costs.add(panel.of_float);
  values.add(float_value);
  const auto [x0, x1] = costs.padded();
  const auto [y0, y1] = values.padded();
  const Axis x{x0, x1, f.left, f.right};
  const Axis y{y0, y1, f.bottom, f.top};
  std::string svg =
      fmt::format("<g class=\"panel\" transform=\"translate({},26)\">", left);
  svg +=
      plot_axes(f, x, ticks_of(x0, x1, 5), panel.title, y, ticks_of(y0, y1, 6),
                has_score ? found.score_name + " in %" : "output SQNR in dB");
  if (panel.most) {
    svg += fmt::format("<path class=\"goal\" d=\"M{:.1f},{}V{}\"/>",
                       x(*panel.most), f.top, f.bottom);
  }
  const std::vector<size_t> front = found.pareto();
  std::vector<std::pair<double, double>> line;
  for (const size_t i : shown) {
    if (std::ranges::find(front, i) == front.end()) continue;
    line.emplace_back(*panel.cost(found.trials[i]),
                      tradeoff_value(found.trials[i], has_score));
  }
  std::ranges::sort(line);
  std::string path;
  for (const auto& [cost, value] : line) {
    path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? 'M' : 'L', x(cost),
                        y(value));
  }
  svg += fmt::format("<path class=\"line\" d=\"{}\"/>", path);
  for (const size_t i : shown) {
    const quant::OptimizeTrial& trial = found.trials[i];
    const bool best = std::ranges::find(front, i) != front.end();
    svg += fmt::format(
        "<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\">"
        "<title>{}</title></circle>",
        i == found.selected ? "selected"
        : best              ? "front"
                            : "trial",
        x(*panel.cost(trial)), y(tradeoff_value(trial, has_score)),
        i == found.selected ? 6 : 4, markup_text(trial.recipe.to_string()));
  }
  if (panel.of_float && float_value) {
    svg += fmt::format(
        "<circle class=\"float\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\">"
        "<title>float</title></circle>",
        x(*panel.of_float), y(*float_value));
  }
  return svg + "</g>";
}

}  // namespace

std::string to_svg(const quant::Optimized& found) {
  const Panel panels[] = {
      {"latency in ms", [](const quant::OptimizeTrial& t) { return t.latency; },
       found.float_latency, found.goal.latency},
      {"file size in MB",
       [](const quant::OptimizeTrial& t) {
         return t.bytes ? std::optional(1e-6 * static_cast<double>(*t.bytes))
                        : std::nullopt;
       },
       std::nullopt,
       found.goal.bytes
           ? std::optional(1e-6 * static_cast<double>(*found.goal.bytes))
           : std::nullopt}};
  std::string body;
  double width = 0;
  for (const Panel& panel : panels) {
    const std::string drawn = tradeoff_panel(found, panel, width);
    if (drawn.empty()) continue;
    body += drawn;
    width += kPanelWidth;
  }
  const std::string title =
      markup_text(fmt::format("{} trials; selected: {}", found.trials.size(),
                              found.trials[found.selected].recipe.to_string()));
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" "
      "width=\"{0}\" height=\"{1}\" role=\"img\" aria-label=\"{2}\">"
      "<title>{2}</title>{3}<text class=\"panel\" x=\"8\" y=\"16\">{2}</text>"
      "{4}</svg>\n",
      std::max(width, kPanelWidth), kPanelHeight + 26, title, kTradeoffStyle,
      body);
}

}  // namespace octet::io
