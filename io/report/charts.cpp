#include "charts.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <octet/runtime/detail/text_table.h>

#include "drawing/markup.h"

namespace octet::io {
namespace {

constexpr double kWidth = 320, kHeight = 120;

/// Maps a value to a position on the axis.
struct Axis {
  double low, high, from, to;
  double operator()(double value) const {
    const double width = high > low ? high - low : 1;
    return from + (value - low) / width * (to - from);
  }
};

std::string open_svg(std::string_view label) {
  return fmt::format(
      "<svg class=\"chart\" viewBox=\"0 0 {} {}\" role=\"img\" "
      "aria-label=\"{}\">",
      kWidth, kHeight, label);
}

std::string class_name(std::span<const std::string> names, int64_t label) {
  return names.empty() ? fmt::format("{}", label)
                       : names[static_cast<size_t>(label)];
}

}  // namespace

std::string histogram_chart(const ActivationHistogram& h) {
  constexpr double kBottom = kHeight - 16;
  const double low = std::min(h.lowest, h.clip_low);
  const double high = std::max(h.highest, h.clip_high);
  const Axis x{low, high, 4, kWidth - 4};
  const double most = std::log1p(static_cast<double>(
      h.bins.empty() ? 0 : *std::ranges::max_element(h.bins)));
  std::string svg = open_svg("histogram");
  for (const auto& [from, to] :
       {std::pair{low, h.clip_low}, std::pair{h.clip_high, high}}) {
    if (to <= from) continue;
    svg += fmt::format(
        "<rect class=\"beyond\" x=\"{:.1f}\" y=\"0\" width=\"{:.1f}\" "
        "height=\"{}\"/>",
        x(from), x(to) - x(from), kBottom);
  }
  std::string path;
  const double step = (h.highest - h.lowest) /
                      static_cast<double>(std::max<size_t>(1, h.bins.size()));
  for (size_t i = 0; i < h.bins.size(); ++i) {
    if (h.bins[i] == 0) continue;
    const double at = h.lowest + static_cast<double>(i) * step;
    const double height =
        most > 0
            ? (kBottom - 8) * std::log1p(static_cast<double>(h.bins[i])) / most
            : 0;
    path += fmt::format("M{:.1f},{:.1f}V{:.1f}H{:.1f}V{:.1f}z", x(at), kBottom,
                        kBottom - height, std::max(x(at + step), x(at) + 1),
                        kBottom);
  }
  svg += fmt::format("<path class=\"fill\" d=\"{}\"/>", path);
  for (const double clip : {h.clip_low, h.clip_high}) {
    svg += fmt::format("<path class=\"clip\" d=\"M{0:.1f},0V{1}\"/>", x(clip),
                       kBottom);
  }
  svg += fmt::format(
      "<path class=\"axis\" d=\"M0,{0}H{1}\"/><text x=\"4\" y=\"{2}\">{3:.3g}"
      "</text><text x=\"{4}\" y=\"{2}\" text-anchor=\"end\">{5:.3g}</text>",
      kBottom, kWidth, kHeight - 3, low, kWidth - 4, high);
  return svg + "</svg>";
}

std::string curve_chart(std::span<const ReportCurve> curves) {
  constexpr double kLeft = 46, kBottom = kHeight - 18;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  size_t epochs = 1;
  for (const ReportCurve& curve : curves) {
    epochs = std::max(epochs, curve.values.size());
    for (const double value : curve.values) {
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (!(low <= high)) low = high = 0;
  const Axis x{1, static_cast<double>(epochs), kLeft, kWidth - 6};
  const Axis y{low, high, kBottom - 4, 8};
  std::string svg = open_svg("curve");
  svg += fmt::format(
      "<path class=\"axis\" d=\"M{0},4V{1}H{2}\"/>"
      "<text x=\"{3}\" y=\"12\" text-anchor=\"end\">{4:.4g}</text>"
      "<text x=\"{3}\" y=\"{1}\" text-anchor=\"end\">{5:.4g}</text>"
      "<text x=\"{0}\" y=\"{6}\">epoch 1</text>"
      "<text x=\"{7}\" y=\"{6}\" text-anchor=\"end\">{8}</text>",
      kLeft, kBottom, kWidth, kLeft - 4, high, low, kHeight - 4, kWidth - 6,
      epochs);
  for (size_t c = 0; c < curves.size(); ++c) {
    std::string path;
    bool drawn = false;
    for (size_t i = 0; i < curves[c].values.size(); ++i) {
      const double value = curves[c].values[i];
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
    svg += fmt::format("<path class=\"line line{}\" d=\"{}\"/>", c % 4, path);
  }
  return svg + "</svg>";
}

std::string bar(double share) {
  return fmt::format(
      "<span class=\"bar\"><span style=\"width:{:.1f}%\"></span></span>",
      100 * std::clamp(std::isfinite(share) ? share : 0, 0.0, 1.0));
}

std::string confusion_table(const train::ConfusionMatrix& confusion,
                            std::span<const std::string> names) {
  std::string html =
      "<table class=\"confusion\"><thead><tr><th>actual \\ predicted</th>";
  for (int64_t p = 0; p < confusion.classes(); ++p) {
    html += fmt::format("<th scope=\"col\">{}</th>",
                        markup_text(cut_text(class_name(names, p), 16)));
  }
  html += "<th scope=\"col\">recall</th></tr></thead><tbody>\n";
  for (int64_t a = 0; a < confusion.classes(); ++a) {
    int64_t sum = 0;
    for (int64_t p = 0; p < confusion.classes(); ++p) {
      sum += confusion.count(a, p);
    }
    html += fmt::format("<tr><th scope=\"row\">{}</th>",
                        markup_text(cut_text(class_name(names, a), 24)));
    for (int64_t p = 0; p < confusion.classes(); ++p) {
      const int64_t count = confusion.count(a, p);
      const double share =
          sum == 0 ? 0 : static_cast<double>(count) / static_cast<double>(sum);
      html += fmt::format("<td style=\"background:rgba({},{:.2f})\">{}</td>",
                          a == p ? "44,138,87" : "207,34,46",
                          0.75 * std::sqrt(share),
                          count == 0 ? "" : group_digits(count));
    }
    html += sum == 0 ? "<td></td></tr>\n"
                     : fmt::format("<td>{:.1f} %</td></tr>\n",
                                   100 * confusion.recall(a));
  }
  return html + "</tbody></table>";
}

}  // namespace octet::io
