#include "plot.h"

#include <cmath>

#include <fmt/format.h>

#include "drawing/markup.h"

namespace octet::io {

double Axis::operator()(double value) const {
  const double width = high > low ? high - low : 1;
  return from + (value - low) / width * (to - from);
}

std::vector<Tick> ticks_of(double low, double high, int most) {
  const double width = high - low;
  if (!(width > 0) || !std::isfinite(width)) {
    return {{low, fmt::format("{:.4g}", low)}};
  }
  double step = std::pow(10, std::floor(std::log10(width / most)));
  for (const double factor : {2.0, 2.5, 2.0}) {
    if (width / step <= most) break;
    step *= factor;
  }
  std::vector<Tick> ticks;
  const double first = std::ceil(low / step - 1e-6);
  for (int i = 0; i <= most && (first + i) * step <= high + 1e-6 * step; ++i) {
    const double at = (first + i) * step;
    ticks.push_back({at, fmt::format("{:.4g}", at)});
  }
  return ticks;
}

std::string open_plot(const PlotFrame& frame, std::string_view text) {
  const std::string escaped = markup_text(text);
  return fmt::format(
      "<svg class=\"chart\" viewBox=\"0 0 {} {}\" role=\"img\" "
      "aria-label=\"{}\"><title>{}</title>",
      frame.width, frame.height, escaped, escaped);
}

std::string plot_axes(const PlotFrame& f, const Axis& x,
                      const std::vector<Tick>& x_ticks,
                      std::string_view x_title, const Axis& y,
                      const std::vector<Tick>& y_ticks,
                      std::string_view y_title) {
  std::string svg;
  for (const Tick& tick : y_ticks) {
    svg += fmt::format(
        "<path class=\"rule\" d=\"M{0},{1:.1f}H{2}\"/><text x=\"{3}\" "
        "y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>",
        f.left, y(tick.at), f.right, f.left - 5, y(tick.at) + 4, tick.text);
  }
  for (const Tick& tick : x_ticks) {
    svg += fmt::format(
        "<path class=\"axis\" d=\"M{0:.1f},{1}v4\"/><text x=\"{0:.1f}\" "
        "y=\"{2}\" text-anchor=\"middle\">{3}</text>",
        x(tick.at), f.bottom, f.bottom + 16, tick.text);
  }
  return svg +
         fmt::format(
             "<path class=\"axis\" d=\"M{0},{1}V{2}H{3}\"/>"
             "<text x=\"0\" y=\"10\">{4}</text>"
             "<text x=\"{5}\" y=\"{6}\" text-anchor=\"middle\">{7}</text>",
             f.left, f.top, f.bottom, f.right, markup_text(y_title),
             (f.left + f.right) / 2, f.bottom + 31, markup_text(x_title));
}

}  // namespace octet::io
