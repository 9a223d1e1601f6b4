// to_dot(): a drawing in Graphviz' DOT language.
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <octet/io/report.h>

#include "layout.h"
#include "markup.h"
#include "printable.h"

namespace octet::io {
namespace {

/// Escapes text for quoted strings, in which Graphviz parses escapes and
/// entities.
std::string dot_text(std::string_view text) {
  std::string result;
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '&' ? "&amp;" : std::string(1, c);
  }
  return result;
}

}  // namespace

std::string to_dot(const Drawing& drawing) {
  check_drawing(drawing);
  std::string dot = fmt::format(
      "digraph \"{0}\" {{\n  label=\"{0}\"; labelloc=t; fontname=monospace;\n"
      "  node [shape=box style=\"rounded,filled\" fillcolor=white "
      "fontname=monospace fontsize=11];\n"
      "  edge [color=\"#8c959f\" fontname=monospace fontsize=9];\n",
      dot_text(drawing.title));
  for (size_t i = 0; i < drawing.boxes.size(); ++i) {
    const DrawnBox& box = drawing.boxes[i];
    std::string label;
    for (const DrawnLayer& layer : box.layers) {
      label +=
          fmt::format("{} {}{}\\l", dot_text(layer.op), dot_text(layer.name),
                      layer.weights.empty() ? "" : "  (Q/DQ)");
    }
    label += dot_text(box.layers.back().shape) + "\\l";
    const PrecisionStyle* style = style_of(box);
    dot += fmt::format("  n{} [label=\"{}\"{}];\n", i, label,
                       style == nullptr
                           ? ""
                           : fmt::format(" fillcolor=\"{}\" color=\"{}\"",
                                         style->fill, style->line));
  }
  for (const DrawnEdge& edge : drawing.edges) {
    dot += fmt::format("  n{} -> n{}{};\n", edge.from, edge.to,
                       edge.pair.empty()
                           ? ""
                           : fmt::format(" [color=\"#1668c7\" penwidth=2 "
                                         "label=\"Q/DQ\" tooltip=\"{}\"]",
                                         dot_text(edge.pair)));
  }
  return dot + "}\n";
}

}  // namespace octet::io
