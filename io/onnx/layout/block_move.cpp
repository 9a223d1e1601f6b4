#include "block_move.h"

#include <vector>

namespace octet::io::layout {
namespace {

using Dims = std::vector<Dim>;

/// Whether the layout is a split of the stored axes, a transposition by `order`
/// and a merge into the logical axes.
bool is_move(const AxisLayout& layout, const Dims& split,
             const std::vector<int>& order) {
  const std::optional<AxisLayout> parts =
      AxisLayout(layout.stored()).reshaped(split);
  if (!parts) return false;
  const std::optional<AxisLayout> result =
      parts->transposed(order).reshaped(layout.dims());
  return result && result->rearrangement() == layout.rearrangement();
}

}  // namespace

std::optional<BlockMove> block_move(const AxisLayout& layout) {
  const Dims from = layout.stored();
  const Dims to = layout.dims();
  if (from.size() != 4 || to.size() != 4 || from[0] != to[0]) {
    return std::nullopt;
  }
  const Dim n = from[0];
  const int64_t c = from[1].factor;
  const int64_t h = from[2].factor;
  const int64_t w = from[3].factor;
  const auto dim = [](int64_t factor) { return Dim{factor, false}; };
  if (const int64_t b = to[2].factor / h; b > 1 && c % (b * b) == 0) {
    const Dim left = dim(c / (b * b));
    // Sizes of 1 make other layouts equal: the node has one output shape.
    if (to != Dims{n, left, dim(h * b), dim(w * b)}) return std::nullopt;
    if (is_move(layout, {n, dim(b), dim(b), left, dim(h), dim(w)},
                {0, 3, 4, 1, 5, 2})) {
      return BlockMove{"DepthToSpace", b, "DCR"};
    }
    if (is_move(layout, {n, left, dim(b), dim(b), dim(h), dim(w)},
                {0, 1, 4, 2, 5, 3})) {
      return BlockMove{"DepthToSpace", b, "CRD"};
    }
  }
  if (const int64_t b = h / to[2].factor;
      b > 1 && h % b == 0 && w % b == 0 &&
      to == Dims{n, dim(c * b * b), dim(h / b), dim(w / b)} &&
      is_move(layout, {n, dim(c), dim(h / b), dim(b), dim(w / b), dim(b)},
              {0, 3, 5, 1, 2, 4})) {
    return BlockMove{"SpaceToDepth", b, ""};
  }
  return std::nullopt;
}

}  // namespace octet::io::layout
