// Text of models and data in SVG and HTML. Internal to io.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <octet/io/report.h>

namespace octet::io {

/// Appearance of the boxes of a LayerPrecision.
struct PrecisionStyle {
  std::string_view css_class, label, legend;
  std::string_view fill, line;  ///< colors in DOT
};
/// Indexed by LayerPrecision.
inline constexpr PrecisionStyle kPrecisionStyles[] = {
    {"og-float", "FP", "FP", "#dad3f5", "#6a5aa8"},
    {"og-mixed", "INT8 in, FP out", "INT8 in, FP out", "#ffdfa8", "#a85a00"},
    {"og-int8", "INT8", "INT8 in and out", "#b5e8d2", "#00795a"},
};
/// Returns null for a box without a prediction.
inline const PrecisionStyle* style_of(const DrawnBox& box) {
  return box.precision ? &kPrecisionStyles[static_cast<size_t>(*box.precision)]
                       : nullptr;
}

/// Escapes text for element content and quoted attributes: printable, with & <
/// > " ' escaped.
std::string markup_text(std::string_view text);

/// Shortens text to at most `characters`, with an ellipsis at the end.
std::string cut_text(std::string_view text, size_t characters);

/// Counts UTF-8 characters.
size_t count_characters(std::string_view text);

}  // namespace octet::io
