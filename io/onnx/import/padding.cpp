// Pad: negative pads select the entries between.
#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/ops.h>
#include <octet/runtime/error.h>
#include <octet/runtime/printable.h>

#include "converters.h"
#include "cut.h"

namespace octet::io::importing {
namespace {

/// Returns the entries to add at the ends of each ONNX axis; negative numbers
/// remove entries.
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
View cropped(Conversion& c, std::vector<Ends>& pads) {
  const Sizes sizes = sizes_of(c.view(0));
  std::vector<Cut> cuts;
  for (size_t axis = 0; axis < pads.size(); ++axis) {
    Ends& ends = pads[axis];
    if (ends == Ends{}) continue;
    if (has_batch(sizes[axis])) {
      c.refuse("pads must be on axes other than the batch");
    }
    const Ends removed(std::max<int64_t>(-ends.begin, 0),
                       std::max<int64_t>(-ends.end, 0));
    cuts.push_back(
        {axis, removed.begin, sizes[axis] - removed.begin - removed.end});
    ends = {std::max<int64_t>(ends.begin, 0), std::max<int64_t>(ends.end, 0)};
  }
  return cut_of(c, c.value(0), cuts);
}

/// Whether images or sequences are padded around their pixels only.
bool pads_pixels(const View& view, const std::vector<Ends>& pads) {
  return view.samples_lead() && (view.rank() == 3 || view.rank() == 4) &&
         pads[1] == Ends{};
}

}  // namespace

void convert_pad(Conversion& c) {
  const std::string mode = c.text("mode", "constant");
  const float value = c.has(2) ? c.scalar(2) : c.number("value", 0);
  std::vector<Ends> pads = pads_of(c, c.view(0).rank());
  const View view = cropped(c, pads);
  const bool whole = view.tensor.node == c.view(0).tensor.node;
  if (std::ranges::all_of(pads, [](const Ends& e) { return e == Ends{}; })) {
    if (whole) c.report("nothing to do");
    return c.forward_layout(view);
  }
  const std::vector<int> order = pads_pixels(view, pads)
                                     ? channels_last(view.rank())
                                     : natural_order(view);
  std::vector<Ends> widths;
  for (const int axis : order)
    widths.push_back(pads[static_cast<size_t>(axis)]);
  const Operand x{materialize(view, order, c.namer()),
                  whole ? c.value(0).qparams : nullptr};
  c.set_output(
      view_of(c.named(octet::pad(x.tensor, widths, mode, value), {x}), order));
}

}  // namespace octet::io::importing
