// to_svg(): boxes, edges and a legend.
#include <algorithm>
#include <array>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <octet/io/report.h>

#include "layout.h"
#include "markup.h"

namespace octet::io {
namespace {

constexpr double kCharacter = 7.3;  // width in a 12 px monospaced font
constexpr double kLine = 16;
constexpr double kPadX = 12, kPadY = 8;
constexpr double kMargin = 20;
constexpr size_t kLongestName = 40;
constexpr double kLeastWidth = 640;

// Class names begin with "og-", because the drawing can be embedded in a page.
// Renderers without media queries use the light colors.
constexpr std::string_view kStyle = R"(<style>
.og-page{fill:#ffffff}
.og text{font:12px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#1b1f24}
.og .og-title{font-size:15px;font-weight:600}
.og .og-op{font-weight:600}
.og .og-quiet{fill:#4a535d}
.og-box{fill:#ffffff;stroke:#737c87;stroke-width:1.2}
.og-end{fill:#f3f4f6}
.og-int8{fill:#b5e8d2;stroke:#00795a}
.og-mixed{fill:#ffdfa8;stroke:#a85a00;stroke-dasharray:6 3}
.og-float{fill:#dad3f5;stroke:#6a5aa8;stroke-dasharray:2 3}
.og-edge{fill:none;stroke:#737c87;stroke-width:1.4}
.og-edge-q{stroke:#1668c7;stroke-width:2}
.og-tip{fill:#737c87}
.og-tip-q,.og-dot{fill:#1668c7}
@media screen and (prefers-color-scheme:dark){
.og-page{fill:#12161c}
.og text{fill:#e6edf3}
.og .og-quiet{fill:#bcc6d0}
.og-box{fill:#1c222b;stroke:#7d8590}
.og-end{fill:#262d37}
.og-int8{fill:#0c5540;stroke:#4fc39a}
.og-mixed{fill:#61400a;stroke:#e0aa3e}
.og-float{fill:#3a3572;stroke:#a79fe6}
.og-edge{stroke:#7d8590}
.og-edge-q{stroke:#58a6ff}
.og-tip{fill:#7d8590}
.og-tip-q,.og-dot{fill:#58a6ff}
}
</style>
)";

bool is_end(const DrawnBox& box) {
  const std::string& op = box.layers[0].op;
  return op == "Input" || op == "InputLayer" || op == "Output";
}

double text_width(std::string_view text) {
  return kCharacter * static_cast<double>(count_characters(text));
}

struct BoxText {
  struct Line {
    std::string op, name;
    bool dot = false;
  };
  std::vector<Line> lines;
  std::string shape;
  BoxSize size;

  explicit BoxText(const DrawnBox& box) {
    double widest = 0;
    for (const DrawnLayer& layer : box.layers) {
      Line line{cut_text(layer.op, kLongestName),
                cut_text(layer.name, kLongestName), !layer.weights.empty()};
      widest = std::max(widest, text_width(line.op + "  " + line.name) +
                                    (line.dot ? kLine : 0));
      lines.push_back(std::move(line));
    }
    shape = cut_text(box.layers.back().shape, kLongestName);
    widest = std::max(
        widest, text_width(shape) + 2 * kCharacter +
                    (style_of(box) ? text_width(style_of(box)->label) : 0));
    size = {widest + 2 * kPadX,
            kLine * static_cast<double>(lines.size() + 1) + 2 * kPadY};
  }
};

std::string tooltip(const DrawnBox& box) {
  std::string text;
  for (const DrawnLayer& layer : box.layers) {
    text += fmt::format("{} {} {}\n", markup_text(layer.op),
                        markup_text(layer.name), markup_text(layer.shape));
    if (!layer.weights.empty()) {
      text += fmt::format("  weights: {}\n", markup_text(layer.weights));
    }
  }
  if (box.precision) text += std::string(to_string(*box.precision));
  if (!box.reason.empty()) text += ": " + markup_text(box.reason);
  return text;
}

std::string box_svg(const DrawnBox& box, const BoxText& text, Point at) {
  const double left = at.x - text.size.width / 2;
  const PrecisionStyle* style = style_of(box);
  std::string svg = fmt::format(
      "<g><title>{}</title><rect class=\"og-box{}{}{}\" x=\"{:.1f}\" "
      "y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"{}\"/>\n",
      tooltip(box), style == nullptr ? "" : " ",
      style == nullptr ? "" : style->css_class, is_end(box) ? " og-end" : "",
      left, at.y, text.size.width, text.size.height, is_end(box) ? 20 : 6);
  double y = at.y + kPadY + 12;
  for (const BoxText::Line& line : text.lines) {
    double x = left + kPadX;
    if (line.dot) {
      svg += fmt::format(
          "<circle class=\"og-dot\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"/>",
          x + 4, y - 4);
      x += kLine;
    }
    svg += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\"><tspan class=\"og-op\">{}</tspan>"
        "<tspan dx=\"8\">{}</tspan></text>\n",
        x, y, markup_text(line.op), markup_text(line.name));
    y += kLine;
  }
  svg += fmt::format(
      "<text class=\"og-quiet\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
      left + kPadX, y, markup_text(text.shape));
  if (style != nullptr) {
    svg += fmt::format(
        "<text class=\"og-quiet\" text-anchor=\"end\" x=\"{:.1f}\" "
        "y=\"{:.1f}\">{}</text>",
        at.x + text.size.width / 2 - kPadX, y, style->label);
  }
  return svg + "</g>\n";
}

std::string edge_svg(const DrawnEdge& edge, const std::vector<Point>& line) {
  constexpr double kTip = 6;
  constexpr double kEnd = 18;  // straight end, for the Q/DQ point
  const bool pair = !edge.pair.empty();
  std::string path = fmt::format("M{:.1f},{:.1f}", line[0].x, line[0].y);
  for (size_t i = 1; i < line.size(); ++i) {
    Point to = line[i];
    if (i % 2 == 1) {
      path += fmt::format("V{:.1f}", to.y);
      continue;
    }
    const Point& from = line[i - 1];
    const bool last = i + 1 == line.size();
    if (last) to.y = std::max(from.y, line[i].y - kEnd);
    const double middle = (from.y + to.y) / 2;
    path += fmt::format("C{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}", from.x,
                        middle, to.x, middle, to.x, to.y);
    if (last) path += fmt::format("V{:.1f}", line[i].y - kTip);
  }
  const Point end = line.back();
  std::string svg = fmt::format(
      "<g><title>{}</title><path class=\"og-edge{}\" d=\"{}\"/>"
      "<path class=\"og-tip{}\" d=\"M{:.1f},{:.1f}l-4,-7h8z\"/>",
      pair ? "Q/DQ: " + markup_text(edge.pair) : "no Q/DQ",
      pair ? " og-edge-q" : "", path, pair ? " og-tip-q" : "", end.x, end.y);
  if (pair) {
    svg += fmt::format(
        "<circle class=\"og-dot\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\"/>",
        end.x, end.y - 13);
  }
  return svg + "</g>\n";
}

/// Legend of the colors in use.
class Legend {
 public:
  explicit Legend(const Drawing& drawing) {
    for (const PrecisionStyle& style : std::views::reverse(kPrecisionStyles)) {
      const auto has = [&](const DrawnBox& box) {
        return style_of(box) == &style;
      };
      if (std::ranges::any_of(drawing.boxes, has)) {
        swatch(style.css_class, style.legend);
      }
    }
    swatch("", "no forecast");
    const bool pairs =
        std::ranges::any_of(
            drawing.edges,
            [](const DrawnEdge& e) { return !e.pair.empty(); }) ||
        std::ranges::any_of(drawing.boxes, [](const DrawnBox& box) {
          return std::ranges::any_of(box.layers, [](const DrawnLayer& layer) {
            return !layer.weights.empty();
          });
        });
    if (pairs) {
      wrap("Q/DQ of a value or of weights");
      item(fmt::format("<circle class=\"og-dot\" cx=\"{:.1f}\" cy=\"{:.1f}\" "
                       "r=\"4.5\"/>",
                       x_ + 8, y_ - 4),
           "Q/DQ of a value or of weights");
    }
  }

  std::string svg() const { return svg_; }
  double bottom() const { return y_ + 8; }

 private:
  void swatch(std::string_view name, std::string_view text) {
    wrap(text);
    item(fmt::format("<rect class=\"og-box {}\" x=\"{:.1f}\" y=\"{:.1f}\" "
                     "width=\"16\" height=\"12\" rx=\"3\"/>",
                     name, x_, y_ - 10),
         text);
  }
  void wrap(std::string_view text) {
    if (x_ + 24 + text_width(text) <= kLeastWidth - kMargin) return;
    x_ = kMargin;
    y_ += 20;
  }
  void item(const std::string& mark, std::string_view text) {
    svg_ += fmt::format(
        "{}<text class=\"og-quiet\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
        mark, x_ + 22, y_, text);
    x_ += 22 + text_width(text) + 20;
  }

  double x_ = kMargin, y_ = 72;
  std::string svg_;
};

std::string summary_of(const Drawing& drawing) {
  if (!drawing.note.empty()) return cut_text(drawing.note, 85);
  std::array<int, 3> count = {};
  for (const DrawnBox& box : drawing.boxes) {
    if (box.precision) ++count.at(static_cast<size_t>(*box.precision));
  }
  return fmt::format(
      "forecast for {}: {} kernels INT8 in and out, {} INT8 in and FP out, "
      "{} FP",
      to_string(drawing.target), count[2], count[1], count[0]);
}

}  // namespace

std::string to_svg(const Drawing& drawing) {
  check_drawing(drawing);
  std::vector<BoxText> texts(drawing.boxes.begin(), drawing.boxes.end());
  std::vector<BoxSize> sizes;
  for (const BoxText& text : texts) sizes.push_back(text.size);
  const Layout layout = lay_out(sizes, drawing.edges);
  const Legend legend(drawing);
  const double width = std::max(kLeastWidth, layout.width + 2 * kMargin);
  const double height = legend.bottom() + layout.height + 2 * kMargin;
  const Point shift{(width - layout.width) / 2, legend.bottom() + kMargin};
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"og\" role=\"img\" "
      "width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "aria-label=\"{2}\">\n{3}<rect class=\"og-page\" width=\"100%\" "
      "height=\"100%\"/>\n"
      "<text class=\"og-title\" x=\"{4}\" y=\"30\">{2}</text>\n"
      "<text class=\"og-quiet\" x=\"{4}\" y=\"50\">{5}</text>\n",
      width, height, markup_text(cut_text(drawing.title, 60)), kStyle, kMargin,
      markup_text(summary_of(drawing)));
  svg += legend.svg();
  svg += fmt::format("<g transform=\"translate({:.1f},{:.1f})\">\n", shift.x,
                     shift.y);
  for (size_t i = 0; i < drawing.edges.size(); ++i) {
    svg += edge_svg(drawing.edges[i], layout.edges[i]);
  }
  for (size_t i = 0; i < drawing.boxes.size(); ++i) {
    svg += box_svg(drawing.boxes[i], texts[i], layout.boxes[i]);
  }
  return svg + "</g>\n</svg>\n";
}

}  // namespace octet::io
