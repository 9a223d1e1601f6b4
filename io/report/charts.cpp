#include "charts.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <octet/runtime/detail/text_table.h>

#include "drawing/markup.h"
#include "plot.h"

namespace octet::io {
namespace {

/// Range of finite values; [0,0] without any.
struct FiniteRange {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return !(low <= high); }
};

/// Powers of ten up to a count, as log1p positions.
std::vector<Tick> count_ticks(double most) {
  constexpr const char* kTexts[] = {"1",    "10", "100", "1k",   "10k",
                                    "100k", "1M", "10M", "100M", "1G"};
  const int skip = most > 1e4 ? 2 : 1;
  std::vector<Tick> ticks;
  for (int i = 0; i < 10 && std::pow(10, i) <= most; i += skip) {
    ticks.push_back({std::log1p(std::pow(10, i)), kTexts[i]});
  }
  return ticks;
}

std::string bars_path(const ActivationHistogram& h, const Axis& x,
                      const Axis& y) {
  const double step = (h.highest - h.lowest) /
                      static_cast<double>(std::max<size_t>(1, h.bins.size()));
  std::string path;
  for (size_t i = 0; i < h.bins.size(); ++i) {
    if (h.bins[i] == 0) continue;
    const double left = x(h.lowest + static_cast<double>(i) * step);
    const double right = x(h.lowest + static_cast<double>(i + 1) * step);
    path += fmt::format("M{:.1f},{:.1f}V{:.1f}H{:.1f}V{:.1f}z", left, y(0),
                        y(std::log1p(static_cast<double>(h.bins[i]))),
                        std::max(right, left + 1), y(0));
  }
  return fmt::format("<path class=\"fill\" d=\"{}\"/>", path);
}

std::string line_path(const ReportCurve& curve, const Axis& x, const Axis& y) {
  std::string path;
  bool drawn = false;
  for (size_t i = 0; i < curve.values.size(); ++i) {
    const double value = curve.values[i];
    if (!std::isfinite(value)) {
      drawn = false;
      continue;
    }
    path += fmt::format("{}{:.1f},{:.1f}", drawn ? 'L' : 'M',
                        x(static_cast<double>(i + 1)), y(value));
    // An isolated point is drawn as a dot.
    if (!drawn) path += "h.01";
    drawn = true;
  }
  return path;
}

std::string class_name(std::span<const std::string> names, int64_t label) {
  return names.empty() ? fmt::format("{}", label)
                       : names[static_cast<size_t>(label)];
}

std::vector<Tick> whole_ticks(double low, double high) {
  std::vector<Tick> ticks = ticks_of(low, high, 8);
  std::erase_if(ticks, [](const Tick& tick) {
    return std::abs(tick.at - std::round(tick.at)) > 1e-6;
  });
  return ticks;
}

}  // namespace

std::string histogram_chart(const ActivationHistogram& h) {
  const PlotFrame f{.left = 38};
  const double low = std::min(h.lowest, h.clip_low);
  const double high = std::max(h.highest, h.clip_high);
  const double most = static_cast<double>(
      h.bins.empty() ? 0 : *std::ranges::max_element(h.bins));
  const Axis x{low, high, f.left, f.right};
  const Axis y{0, std::log1p(most), f.bottom, f.top + 4};
  std::string svg = open_plot(
      f, fmt::format("Histogram of {}: values from {:.3g} to {:.3g}, range "
                     "from {:.3g} to {:.3g}",
                     h.name, h.lowest, h.highest, h.clip_low, h.clip_high));
  for (const auto& [from, to] :
       {std::pair{low, h.clip_low}, std::pair{h.clip_high, high}}) {
    if (to <= from) continue;
    svg += fmt::format(
        "<rect class=\"beyond\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" "
        "height=\"{}\"/>",
        x(from), f.top, x(to) - x(from), f.bottom - f.top);
  }
  svg += plot_axes(f, x, ticks_of(low, high, 6), "value", y, count_ticks(most),
                   "count (log scale)");
  svg += bars_path(h, x, y);
  for (const double clip : {h.clip_low, h.clip_high}) {
    svg += fmt::format("<path class=\"clip\" d=\"M{:.1f},{}V{}\"/>", x(clip),
                       f.top, f.bottom);
  }
  return svg + "</svg>";
}

std::string curve_chart(std::span<const ReportCurve> curves) {
  const PlotFrame f{.left = 52};
  FiniteRange range;
  size_t epochs = 1;
  for (const ReportCurve& curve : curves) {
    epochs = std::max(epochs, curve.values.size());
    for (const double value : curve.values) range.add(value);
  }
  if (range.empty()) range = {0, 0};
  const double last = static_cast<double>(epochs);
  const Axis x{1, last, f.left + 6, f.right - 6};
  const Axis y{range.low, range.high, f.bottom - 6, f.top + 4};
  const std::string name = curves.empty() ? "" : curves[0].name;
  std::string svg =
      open_plot(f, fmt::format("{} over {} epochs, from {:.4g} to {:.4g}", name,
                               epochs, range.low, range.high));
  svg += plot_axes(f, x, whole_ticks(1, last), "epoch", y,
                   ticks_of(range.low, range.high, 5), name);
  for (size_t c = 0; c < curves.size(); ++c) {
    svg += fmt::format("<path class=\"line line{}\" d=\"{}\"/>", c % 4,
                       line_path(curves[c], x, y));
  }
  return svg + "</svg>";
}

std::string curve_key(size_t index) {
  return fmt::format(
      "<svg class=\"key chart\" viewBox=\"0 0 24 8\" aria-hidden=\"true\">"
      "<path class=\"line line{}\" d=\"M1,4H23\"/></svg>",
      index % 4);
}

std::string sqnr_chart(std::span<const ValueDifference> values) {
  const PlotFrame f{
      .width = 840, .height = 240, .left = 40, .right = 830, .bottom = 204};
  FiniteRange range;
  double noise = 0;
  for (const ValueDifference& value : values) {
    range.add(value.sqnr());
    noise = std::max(noise, value.added_noise());
  }
  if (range.empty()) return "";
  const double last = static_cast<double>(values.size());
  const Axis x{1, last, f.left + 10, f.right - 10};
  const Axis y{std::min(0.0, range.low), std::max(1.0, range.high), f.bottom,
               f.top + 6};
  std::string svg = open_plot(
      f, fmt::format("SQNR of {} values in the order of computation, from "
                     "{:.1f} to {:.1f} dB",
                     values.size(), range.low, range.high));
  svg += plot_axes(f, x, whole_ticks(1, last), "position in the network", y,
                   ticks_of(y.low, y.high, 7), "SQNR (dB)");
  const double width = std::clamp(0.7 * (f.right - f.left) / last, 1.5, 14.0);
  for (size_t i = 0; i < values.size(); ++i) {
    const double sqnr = values[i].sqnr();
    if (!std::isfinite(sqnr)) continue;
    const double top = y(std::max(0.0, sqnr)), end = y(std::min(0.0, sqnr));
    svg += fmt::format(
        "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
        "height=\"{:.1f}\"><title>{}: {:.1f} dB, added noise {:.3g} %"
        "</title></rect>",
        noise > 0 && values[i].added_noise() == noise ? "worst" : "dot",
        x(static_cast<double>(i + 1)) - width / 2, top, width,
        std::max(1.0, end - top), markup_text(values[i].name), sqnr,
        100 * values[i].added_noise());
  }
  return svg + "</svg>";
}

std::string bar(double share) {
  return fmt::format(
      "<span class=\"bar\" aria-hidden=\"true\"><span "
      "style=\"width:{:.1f}%\"></span></span>",
      100 * std::clamp(std::isfinite(share) ? share : 0, 0.0, 1.0));
}

std::string confusion_table(const train::ConfusionMatrix& confusion,
                            std::span<const std::string> names) {
  std::string html =
      "<table class=\"confusion\"><thead><tr><th scope=\"col\">actual \\ "
      "predicted</th>";
  for (int64_t p = 0; p < confusion.classes(); ++p) {
    html += fmt::format("<th class=\"n\" scope=\"col\">{}</th>",
                        markup_text(cut_text(class_name(names, p), 16)));
  }
  html += "<th class=\"n\" scope=\"col\">recall</th></tr></thead><tbody>\n";
  for (int64_t a = 0; a < confusion.classes(); ++a) {
    int64_t sum = 0;
    for (int64_t p = 0; p < confusion.classes(); ++p) {
      sum += confusion.count(a, p);
    }
    html += fmt::format("<tr><th scope=\"row\">{}</th>",
                        markup_text(cut_text(class_name(names, a), 24)));
    for (int64_t p = 0; p < confusion.classes(); ++p) {
      const int64_t count = confusion.count(a, p);
      if (count == 0) {
        html += "<td class=\"n\"></td>";
        continue;
      }
      const double share =
          static_cast<double>(count) / static_cast<double>(sum);
      html += fmt::format(
          "<td class=\"n {}\" style=\"--share:{:.0f}%\">{}</td>",
          a == p ? "hit" : "miss", 100 * std::sqrt(share), group_digits(count));
    }
    html += sum == 0 ? "<td class=\"n\"></td></tr>\n"
                     : fmt::format("<td class=\"n\">{:.1f} %</td></tr>\n",
                                   100 * confusion.recall(a));
  }
  return html + "</tbody></table>";
}

}  // namespace octet::io
