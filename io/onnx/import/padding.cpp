// Pad: negative pads select the entries between.
#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/ops.h>
#include <octet/runtime/detail/printable.h>
#include <octet/runtime/error.h>

#include "converters.h"
#include "cut.h"

namespace octet::io::importing {
namespace {

/// Returns the entries to add at the ends of each axis of the file; negative
/// numbers remove entries.
std::vector<Ends> pads_of(const Conversion& c, int rank) {
  const char* const name = c.opset() < 2 ? "paddings" : "pads";
  const Sizes pads = c.has(1) ? c.integers(1) : c.integers(name);
  const Sizes axes = c.has(3) ? c.integers(3) : Sizes();
  const size_t count = c.has(3) ? axes.size() : static_cast<size_t>(rank);
  if (pads.size() != 2 * count) {
    c.refuse(fmt::format("pads must have {} numbers, got {}", 2 * count,
                         pads.size()));
  }
  constexpr int64_t kMost = int64_t{1} << 31;
  for (const int64_t pad : pads) {
    if (pad < -kMost || pad > kMost) {
      c.refuse(fmt::format("pads must be at most {}, got {}", kMost, pad));
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

/// Removes entries for negative pads, which become 0.
ImportedValue cropped(Conversion& c, std::vector<Ends>& pads) {
  const ImportedValue& x = c.value(0);
  const Dims dims = x.dims();
  std::vector<Cut> cuts;
  for (size_t axis = 0; axis < pads.size(); ++axis) {
    const auto [begin, end] = pads[axis];
    if (begin == 0 && end == 0) continue;
    if (dims[axis].batch) c.refuse("pads must be on axes other than the batch");
    const int64_t first = std::max<int64_t>(-begin, 0);
    cuts.push_back({static_cast<int64_t>(axis), first,
                    dims[axis].factor - first - std::max<int64_t>(-end, 0)});
    pads[axis] = {std::max<int64_t>(begin, 0), std::max<int64_t>(end, 0)};
  }
  ImportedValue y = cut_of(c, x, cuts);
  y.qparams = x.qparams;
  return y;
}

/// Whether images or sequences are padded around their pixels only.
bool pads_pixels(const ImportedValue& x, const std::vector<Ends>& pads) {
  return x.samples_lead() && (x.rank() == 3 || x.rank() == 4) &&
         pads[1] == Ends{};
}

}  // namespace

void convert_pad(Conversion& c) {
  const std::string mode = c.text("mode", "constant");
  const float value = c.has(2) ? c.scalar(2) : c.number("value", 0);
  std::vector<Ends> pads = pads_of(c, c.value(0).rank());
  const ImportedValue x = cropped(c, pads);
  if (std::ranges::all_of(pads, [](const Ends& e) { return e == Ends{}; })) {
    if (x.tensor.node == c.value(0).tensor.node) c.report("nothing to do");
    return c.set_output(x);
  }
  LayerAxes axes(x);
  if (pads_pixels(x, pads)) axes.order = channels_last(x.rank());
  std::vector<Ends> widths(axes.order.size());
  for (size_t axis = 0; axis < pads.size(); ++axis) {
    if (pads[axis] == Ends{}) continue;
    const int64_t at = axes.position(static_cast<int64_t>(axis));
    widths[static_cast<size_t>(at)] = pads[axis];
  }
  const Operand operand = c.operand(axes);
  c.set_output(axes.back(
      c.named(octet::pad(operand.tensor, widths, mode, value), {operand})));
}

}  // namespace octet::io::importing
