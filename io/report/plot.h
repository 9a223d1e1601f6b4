// Frame, axes and ticks of a report's charts. Internal to io.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace octet::io {

/// Maps a value to a position on an axis.
struct Axis {
  double low, high, from, to;
  double operator()(double value) const;
};

struct Tick {
  double at = 0;
  std::string text;
};

/// Returns up to `most` + 1 multiples of 1, 2 or 5 times a power of ten within
/// [low, high].
std::vector<Tick> ticks_of(double low, double high, int most);

/// Positions in an SVG of a chart.
struct PlotFrame {
  double width = 320, height = 150;
  double left = 46, right = 310, top = 22, bottom = 114;
};

/// Opens an SVG; `text` is its title and label, not escaped.
std::string open_plot(const PlotFrame& frame, std::string_view text);

/// Returns axes with ticks, grid lines, and titles with units, not escaped.
std::string plot_axes(const PlotFrame& frame, const Axis& x,
                      const std::vector<Tick>& x_ticks,
                      std::string_view x_title, const Axis& y,
                      const std::vector<Tick>& y_ticks,
                      std::string_view y_title);

}  // namespace octet::io
