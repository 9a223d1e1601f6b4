// Pad.
#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/ops.h>
#include <octet/runtime/error.h>
#include <octet/runtime/printable.h>

#include "converters.h"

namespace octet::io::importing {
namespace {

/// Returns the entries to add at the ends of each axis of the file.
std::vector<Ends> pads_of(const Conversion& c, int rank) {
  const Sizes pads = c.has(1) ? c.integers(1) : c.integers("pads");
  const Sizes axes = c.has(3) ? c.integers(3) : Sizes();
  const size_t count = c.has(3) ? axes.size() : static_cast<size_t>(rank);
  if (pads.size() != 2 * count) {
    c.refuse(fmt::format("pads must have {} numbers, got {}", 2 * count,
                         pads.size()));
  }
  constexpr int64_t kMost = int64_t{1} << 31;
  for (const int64_t pad : pads) {
    if (pad < 0 || pad > kMost) {
      c.refuse(fmt::format("pads must be from 0 to {}, got {}", kMost, pad));
    }
  }
  std::vector<Ends> ends(static_cast<size_t>(rank));
  for (size_t i = 0; i < count; ++i) {
    const size_t axis =
        c.has(3) ? static_cast<size_t>(c.axis_of(axes[i], rank)) : i;
    ends[axis] = {pads[i], pads[i + count]};
  }
  return ends;
}

/// Whether images or sequences are padded around their pixels only.
bool pads_pixels(const ImportedValue& x, const std::vector<Ends>& pads) {
  return x.samples_lead() && (x.rank() == 3 || x.rank() == 4) &&
         pads[1] == Ends{};
}

}  // namespace

// spell_pad() has replaced negative pads.
void convert_pad(Conversion& c) {
  const std::string mode = c.text("mode", "constant");
  const float value = c.has(2) ? c.scalar(2) : c.number("value", 0);
  const ImportedValue& x = c.value(0);
  const std::vector<Ends> pads = pads_of(c, x.rank());
  LayerAxes axes(x);
  if (pads_pixels(x, pads)) axes.order = channels_last(x.rank());
  std::vector<Ends> widths(axes.order.size());
  for (int axis = 0; axis < x.rank(); ++axis) {
    const Ends& ends = pads[static_cast<size_t>(axis)];
    if (ends == Ends{}) continue;
    if (x.has_batch(axis)) {
      c.refuse("pads must be on axes other than the batch");
    }
    widths[static_cast<size_t>(axes.position(axis))] = ends;
  }
  if (std::ranges::all_of(widths, [](const Ends& e) { return e == Ends{}; })) {
    c.report("nothing to do");
    return c.set_output(x);
  }
  const Operand operand = c.operand(axes);
  c.set_output(axes.back(
      c.named(octet::pad(operand.tensor, widths, mode, value), {operand})));
}

}  // namespace octet::io::importing
