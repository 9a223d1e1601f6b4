#include "padding.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/layers/cropping1d.h>
#include <octet/layers/cropping2d.h>
#include <octet/layers/where.h>
#include <octet/layers/zero_padding1d.h>
#include <octet/layers/zero_padding2d.h>
#include <octet/runtime/error.h>

#include "constant_values.h"
#include "converters.h"
#include "gather.h"

namespace octet::io::importing {

namespace {

/// Replaces the zeros of the padding by a number.
View bordered(Conversion& c, const View& padded, const AxisEnds& ends,
              float number) {
  const Sizes sizes = sizes_of(padded);
  Sizes dims(sizes.size(), 1);
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    if (ends.begin[axis] > 0 || ends.end[axis] > 0) dims[axis] = sizes[axis];
  }
  Tensor border = Tensor::zeros(Shape(std::span<const int64_t>(dims)));
  const auto values = border.f32();
  for (size_t i = 0; i < values.size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    for (size_t axis = dims.size(); axis-- > 0; rest /= dims[axis]) {
      const int64_t at = rest % dims[axis];
      if (dims[axis] > 1 &&
          (at < ends.begin[axis] || at >= dims[axis] - ends.end[axis])) {
        values[i] = 1;
      }
    }
  }
  const std::vector<int> order = natural_order(padded);
  const View outside = constant_beside(c, border, padded, "/border");
  return view_of(
      c.add(Where({.x = number}), {{materialize(outside, order, c.namer())},
                                   {materialize(padded, order, c.namer())}}),
      order);
}

}  // namespace

bool pad_or_crop(Conversion& c, const AxisEnds& ends, float border) {
  const View& view = c.view(0);
  const int rank = view.rank();
  const auto is_moved = [&](int axis) {
    const auto i = static_cast<size_t>(axis);
    return ends.begin[i] != 0 || ends.end[i] != 0;
  };
  std::vector<int> moved;
  bool grows = true;
  bool shrinks = true;
  constexpr int64_t kMost = 1 << 20;
  for (int axis = 0; axis < rank; ++axis) {
    if (!is_moved(axis)) continue;
    moved.push_back(axis);
    const auto i = static_cast<size_t>(axis);
    if (std::max(ends.begin[i], ends.end[i]) > kMost ||
        std::min(ends.begin[i], ends.end[i]) < -kMost) {
      c.refuse(fmt::format("padding must be at most {}", kMost));
    }
    grows &= ends.begin[i] >= 0 && ends.end[i] >= 0;
    shrinks &= ends.begin[i] <= 0 && ends.end[i] <= 0;
  }
  if (moved.empty()) {
    c.report("nothing to do");
    c.forward_layout(view);
    return true;
  }
  // Axis order in which the changed axes are the spatial ones.
  std::vector<int> order;
  if ((rank == 3 || rank == 4) && view.samples_lead()) {
    const auto within = [&](int first, int last) {
      return moved.front() >= first && moved.back() <= last;
    };
    if (within(2, rank - 1)) order = channels_last(rank);
    // Cropping channels needs no transposition, unlike padding them.
    if (within(1, rank - 2) &&
        ((grows && order.empty()) || natural_order(view)[1] == 1)) {
      order = file_order(rank);
    }
  }
  if (order.empty() || !(grows || shrinks)) return false;
  const int64_t sign = grows ? 1 : -1;
  const auto along = [&](int pixel_axis) {
    const auto i = static_cast<size_t>(order[static_cast<size_t>(pixel_axis)]);
    return Ends(sign * ends.begin[i], sign * ends.end[i]);
  };
  const auto layer = [&]() -> LayerHandle {
    if (rank == 3) {
      if (grows) return ZeroPadding1D({.padding = along(1)});
      return Cropping1D({.cropping = along(1)});
    }
    if (grows) return ZeroPadding2D({.padding = Pads(along(1), along(2))});
    return Cropping2D({.cropping = Pads(along(1), along(2))});
  };
  const bool zeros = shrinks || border == 0;
  const View y = view_of(
      c.add(layer(), {c.operand(0, order)}, {}, zeros ? "" : "/zeros"), order);
  c.set_output(zeros ? y : bordered(c, y, ends, border));
  return true;
}

namespace {

// Returns the entry copied to a place before the first or after the last entry
// of an axis. Source: ONNX Pad-21; numpy.pad.
int64_t entry_of(int64_t place, int64_t size, const std::string& mode) {
  if (mode == "edge") return std::clamp<int64_t>(place, 0, size - 1);
  if (mode == "wrap") return ((place % size) + size) % size;
  const int64_t period = std::max<int64_t>(2 * (size - 1), 1);
  const int64_t within = ((place % period) + period) % period;
  return std::min(within, period - within) % size;
}

void pad_by_pixels(Conversion& c, const AxisEnds& ends,
                   const std::string& mode) {
  const View view = c.view(0);
  const Sizes sizes = sizes_of(view);
  constexpr int64_t kMost = 1 << 20;
  std::vector<AxisIndices> chosen;
  for (int axis = 0; axis < view.rank(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    if (ends.begin[i] == 0 && ends.end[i] == 0) continue;
    const bool too_far =
        mode == "reflect" && std::max(ends.begin[i], ends.end[i]) >= sizes[i];
    if (has_batch(sizes[i]) || std::min(ends.begin[i], ends.end[i]) < 0 ||
        std::max(ends.begin[i], ends.end[i]) > kMost || too_far) {
      c.refuse(fmt::format(
          "pads must be on axes other than the batch, and with reflect less "
          "than their size, got {} and {} on axis {} of {}",
          ends.begin[i], ends.end[i], axis, importing::text_of(view)));
    }
    AxisIndices padded{axis, {}};
    for (int64_t k = -ends.begin[i]; k < sizes[i] + ends.end[i]; ++k) {
      padded.indices.push_back(entry_of(k, sizes[i], mode));
    }
    chosen.push_back(std::move(padded));
  }
  if (chosen.empty()) return c.forward_layout(view);
  c.set_output(gathered(c, chosen));
}

}  // namespace

void convert_pad(Conversion& c) {
  const std::string mode = c.text("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" &&
      mode != "wrap") {
    c.refuse(fmt::format("mode must be constant, reflect, edge or wrap, got {}",
                         mode));
  }
  const Sizes pads = c.has(1) ? c.integers(1) : c.integers("pads");
  const float value = c.has(2) ? c.scalar(2) : c.number("value", 0);
  const int rank = c.view(0).rank();
  AxisEnds ends{Sizes(static_cast<size_t>(rank)),
                Sizes(static_cast<size_t>(rank))};
  Sizes axes;
  if (c.has(3)) {
    for (const int64_t axis : c.integers(3))
      axes.push_back(c.axis_of(axis, rank));
  } else {
    for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  if (pads.size() != 2 * axes.size()) {
    c.refuse(fmt::format("pads must have {} numbers, got {}", 2 * axes.size(),
                         pads.size()));
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    ends.begin[axis] = pads[i];
    ends.end[axis] = pads[i + axes.size()];
  }
  if (mode != "constant") return pad_by_pixels(c, ends, mode);
  if (!pad_or_crop(c, ends, value)) {
    c.refuse(fmt::format("pads must be on spatial axes of {}, got [{}]",
                         importing::text_of(c.view(0)), fmt::join(pads, ",")));
  }
}

}  // namespace octet::io::importing
