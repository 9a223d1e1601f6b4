#include "window_attributes.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/runtime/error.h>

namespace octet::io::importing {
namespace {

Sizes list_of(const Conversion& c, const char* name, size_t count,
              int64_t otherwise) {
  Sizes list = c.integers(name);
  if (list.empty()) list.assign(count, otherwise);
  if (list.size() != count) {
    c.refuse(fmt::format("{} must have {} numbers, got [{}]", name, count,
                         fmt::join(list, ",")));
  }
  return list;
}

int64_t reach_of(const WindowAttributes& w, size_t i) {
  return (w.size[i] - 1) * w.dilations[i] + 1;
}

/// Source: ONNX Conv, AveragePool and MaxPool, auto_pad.
void pad_automatically(const Conversion& c, WindowAttributes& w, const Shape& x,
                       bool upper) {
  for (size_t i = 0; i < w.size.size(); ++i) {
    const int64_t size = x[static_cast<int>(i) + 1];
    const int64_t positions = (size + w.strides[i] - 1) / w.strides[i];
    const int64_t wanted =
        (positions - 1) * w.strides[i] + reach_of(w, i) - size;
    if (wanted < 0 && c.op() == "AveragePool") {
      c.refuse(
          "windows with auto_pad must not leave gaps, whose position the "
          "specification does not define");
    }
    const int64_t total = std::max<int64_t>(wanted, 0);
    w.begin[i] = upper ? total / 2 : total - total / 2;
    w.end[i] = total - w.begin[i];
  }
}

/// Adds the last window if it begins in the image or its leading padding.
/// Source: ONNX MaxPool-22 and PyTorch, pooling_output_shape.
void round_up(WindowAttributes& w, const Shape& x) {
  for (size_t i = 0; i < w.size.size(); ++i) {
    const int64_t size = x[static_cast<int>(i) + 1];
    const int64_t padded = size + w.begin[i] + w.end[i];
    const int64_t rest = padded - reach_of(w, i);
    if (rest < 0 || rest % w.strides[i] == 0) continue;
    const int64_t start = (rest / w.strides[i] + 1) * w.strides[i];
    if (start < size + w.begin[i]) w.end[i] += start - rest;
  }
}

}  // namespace

bool WindowAttributes::dilated() const {
  return std::ranges::any_of(dilations, [](int64_t d) { return d != 1; });
}

Padding WindowAttributes::padding(const Shape& image) const {
  const Pads pads(begin[0], end[0], begin[1], end[1]);
  if (pads == Pads{}) return Padding::valid;
  const Pads same = Padding(Padding::same)
                        .pads({image[1], image[2]}, over(size), over(strides),
                              over(dilations));
  return pads == same ? Padding::same : Padding(pads);
}

Padding1D WindowAttributes::padding_of_sequence(const Shape& sequence) const {
  const Ends ends(begin[0], end[0]);
  if (ends == Ends{}) return Padding1D::valid;
  const Ends same = Padding1D(Padding1D::same)
                        .pads(sequence[1], size[0], strides[0], dilations[0]);
  return ends == same ? Padding1D::same : Padding1D(ends);
}

WindowAttributes window_of(const Conversion& c, const Shape& x,
                           const Sizes& size) {
  const size_t axes = size.size();
  WindowAttributes w{.size = size,
                     .strides = list_of(c, "strides", axes, 1),
                     .dilations = list_of(c, "dilations", axes, 1),
                     .begin = Sizes(axes, 0),
                     .end = Sizes(axes, 0)};
  const std::string automatic = c.text("auto_pad", "NOTSET");
  if (automatic == "NOTSET" || automatic.empty()) {
    const Sizes pads = list_of(c, "pads", 2 * axes, 0);
    const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(axes);
    w.begin.assign(pads.begin(), middle);
    w.end.assign(middle, pads.end());
  } else if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    pad_automatically(c, w, x, automatic == "SAME_UPPER");
  } else if (automatic != "VALID") {
    c.refuse(
        fmt::format("auto_pad must be a mode of ONNX, got '{}'", automatic));
  }
  if (c.integer("ceil_mode", 0) != 0) round_up(w, x);
  return w;
}

Operand pixels_of(Conversion& c, int input) {
  const ImportedValue& x = c.value(input);
  const int rank = x.rank();
  if (rank != 3 && rank != 4) {
    c.refuse(
        fmt::format("input must be images or sequences, got {}", x.text()));
  }
  return c.operand(input, channels_last(rank));
}

ImportedValue channels_first(const SymbolicTensor& y) {
  return value_of(y, channels_last(y.shape().rank()));
}

}  // namespace octet::io::importing
