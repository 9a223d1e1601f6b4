#include <algorithm>

#include <fmt/format.h>

#include <octet/runtime/detail/tensor_parts.h>
#include <octet/runtime/error.h>
#include <octet/runtime/tensor.h>

namespace octet {
namespace {

AxisPart part_of(int64_t size, const Slice& slice) {
  const bool forward = slice.step > 0;
  // Range of the first index, and of the exclusive end.
  const int64_t lowest = forward ? 0 : -1;
  const int64_t highest = forward ? size : size - 1;
  const auto end = [&](std::optional<int64_t> given, int64_t otherwise) {
    if (!given) return otherwise;
    const int64_t place = *given < 0 ? *given + size : *given;
    return std::clamp(place, lowest, highest);
  };
  const int64_t first = end(slice.start, forward ? lowest : highest);
  const int64_t stop = end(slice.stop, forward ? highest : lowest);
  const int64_t distance = forward ? stop - first : first - stop;
  // Longer steps also select a single entry; the clamp prevents overflow.
  const int64_t stride = forward ? std::min(slice.step, size + 1)
                                 : -std::max(slice.step, -(size + 1));
  const int64_t count = distance <= 0 ? 0 : (distance - 1) / stride + 1;
  return {count == 0 ? 0 : first, count, forward ? stride : -stride};
}

}  // namespace

Slice::Slice(std::optional<int64_t> from, std::optional<int64_t> to, int64_t by)
    : start(from), stop(to), step(by) {
  if (by == 0) throw ValueError("invalid_value", "Slice", "step must not be 0");
}

Index::Index(std::string_view ellipsis) : kind_(Kind::ellipsis) {
  if (ellipsis != "...") {
    throw ValueError(
        "invalid_value", "Index",
        fmt::format("must be a number, a Slice or \"...\", got \"{}\"",
                    ellipsis));
  }
}

std::vector<AxisPart> parts_of(const Shape& shape,
                               std::span<const Index> indices) {
  const auto is_ellipsis = [](const Index& i) {
    return i.kind() == Index::Kind::ellipsis;
  };
  const auto ellipses = std::ranges::count_if(indices, is_ellipsis);
  if (ellipses > 1)
    throw ValueError("invalid_value", "index", "has more than one \"...\"");
  const auto named = std::ssize(indices) - ellipses;
  if (named > shape.rank()) {
    throw ShapeError("count_mismatch", "index",
                     fmt::format("{} indices for {} axes of {}", named,
                                 shape.rank(), shape.to_string()));
  }
  const auto rest = static_cast<size_t>(shape.rank() - named);
  const std::vector<Index> all(rest, Index(Slice()));
  std::vector<Index> each(indices.begin(), indices.end());
  auto place = std::ranges::find_if(each, is_ellipsis);
  if (place != each.end()) place = each.erase(place);
  each.insert(place, all.begin(), all.end());

  std::vector<AxisPart> parts;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const Index& index = each[static_cast<size_t>(axis)];
    const int64_t size = shape[axis];
    if (index.kind() == Index::Kind::slice) {
      parts.push_back(part_of(size, index.slice()));
      continue;
    }
    if (index.entry() < -size || index.entry() >= size) {
      throw ShapeError(
          "out_of_range", "index",
          fmt::format("entry {} of axis {} of {} is not in [{},{})",
                      index.entry(), axis, shape.to_string(), -size, size));
    }
    const int64_t entry = index.entry();
    parts.push_back({entry < 0 ? entry + size : entry, 1, 1, true});
  }
  return parts;
}

}  // namespace octet
