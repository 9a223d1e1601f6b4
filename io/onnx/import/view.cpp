#include "view.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/layers/permute.h>
#include <octet/layers/reshape.h>
#include <octet/runtime/error.h>

namespace octet::io::importing {
namespace {

int64_t size_of_axis(const View& view, size_t axis) {
  int64_t size = 1;
  for (const size_t part : view.axes[axis]) {
    if (__builtin_mul_overflow(size, view.parts[part], &size)) {
      throw UnsupportedError("size_limit", "", "input's size exceeds 64 bits");
    }
  }
  return size;
}

/// Returns the factors of a sample for an order of the ONNX axes, batch first.
std::vector<size_t> parts_in(const View& view, std::span<const int> order) {
  std::vector<size_t> parts;
  for (const int axis : order.subspan(1)) {
    const auto& those = view.axes[static_cast<size_t>(axis)];
    parts.insert(parts.end(), those.begin(), those.end());
  }
  return parts;
}

/// Returns the shape of a sample for an order of the ONNX axes.
Sizes sample_in(const View& view, std::span<const int> order) {
  Sizes sizes;
  for (const int axis : order.subspan(1)) {
    sizes.push_back(size_of_axis(view, static_cast<size_t>(axis)));
  }
  return sizes;
}

bool has_sample(const SymbolicTensor& tensor, const Sizes& sizes) {
  const auto dims = tensor.shape().dims().subspan(1);
  return std::ranges::equal(dims, sizes);
}

SymbolicTensor with_sample(const SymbolicTensor& tensor, const Sizes& sizes,
                           const Namer& name) {
  if (has_sample(tensor, sizes)) return tensor;
  return Reshape({.target_shape = sizes, .name = name("reshape")})(tensor);
}

/// Whether the axis is the batch alone.
bool is_of_samples(const View& view, int axis) {
  return view.axes[static_cast<size_t>(axis)] == std::vector<size_t>{0};
}

/// Splits a factor in two, the outer of size `outer`.
void split_part(View& view, size_t part, int64_t outer) {
  const int64_t inner = view.parts[part] / outer;
  view.parts[part] = outer;
  view.parts.insert(view.parts.begin() + static_cast<std::ptrdiff_t>(part) + 1,
                    inner);
  for (auto& axis : view.axes) {
    for (size_t i = 0; i < axis.size(); ++i) {
      if (axis[i] > part) ++axis[i];
      if (axis[i] != part) continue;
      axis.insert(axis.begin() + static_cast<std::ptrdiff_t>(i) + 1, part + 1);
      ++i;
    }
  }
}

}  // namespace

size_t View::batch() const {
  return static_cast<size_t>(
      std::ranges::find_if(axes,
                           [](const std::vector<size_t>& axis) {
                             return std::ranges::find(axis, size_t{0}) !=
                                    axis.end();
                           }) -
      axes.begin());
}

bool View::samples_lead() const { return is_of_samples(*this, 0); }

int64_t sample_size(const View& view) {
  return std::accumulate(view.parts.begin() + 1, view.parts.end(), int64_t{1},
                         std::multiplies<>());
}

View view_of(const SymbolicTensor& tensor, std::span<const int> order) {
  View view{.tensor = tensor, .parts = {kBatch}, .axes = {}};
  view.axes.resize(order.size());
  view.axes[static_cast<size_t>(order[0])] = {0};
  for (size_t i = 1; i < order.size(); ++i) {
    const int64_t size = tensor.shape()[static_cast<int>(i)];
    if (size == 1) continue;
    view.axes[static_cast<size_t>(order[i])] = {view.parts.size()};
    view.parts.push_back(size);
  }
  return view;
}

Sizes sizes_of(const View& view) {
  Sizes sizes;
  for (size_t axis = 0; axis < view.axes.size(); ++axis) {
    sizes.push_back(size_of_axis(view, axis));
  }
  return sizes;
}

std::string text_of(const View& view) { return text_of(sizes_of(view)); }

std::string text_of(const Sizes& sizes) {
  std::string text = "[";
  for (const int64_t size : sizes) {
    if (text.size() > 1) text += ',';
    if (!has_batch(size)) {
      text += std::to_string(size);
      continue;
    }
    text += 'N';
    if (size != kBatch) text += '*' + std::to_string(size / kBatch);
  }
  return text + "]";
}

View transposed(const View& view, std::span<const int64_t> perm) {
  View result = view;
  for (size_t i = 0; i < perm.size(); ++i) {
    result.axes[i] = view.axes[static_cast<size_t>(perm[i])];
  }
  return result;
}

std::optional<View> reshaped(const View& view, const Sizes& sizes) {
  View result = view;
  // Axis and index of the next unassigned factor.
  std::vector<std::vector<size_t>> axes(sizes.size());
  size_t axis = 0;
  size_t index = 0;
  for (size_t to = 0; to < sizes.size(); ++to) {
    int64_t left = sizes[to];
    if (left < 1) return std::nullopt;
    while (left > 1) {
      while (axis < result.axes.size() && index == result.axes[axis].size()) {
        ++axis;
        index = 0;
      }
      if (axis == result.axes.size()) return std::nullopt;
      const size_t part = result.axes[axis][index];
      const int64_t size = result.parts[part];
      if (size > left) {
        if (size % left != 0) return std::nullopt;
        split_part(result, part, left);
        for (auto& taken : axes) {
          for (size_t& p : taken) p += p > part ? 1 : 0;
        }
        continue;
      }
      if (left % size != 0) return std::nullopt;
      axes[to].push_back(part);
      left /= size;
      ++index;
    }
  }
  const size_t taken = std::accumulate(
      axes.begin(), axes.end(), size_t{0},
      [](size_t sum, const auto& parts) { return sum + parts.size(); });
  if (taken != result.parts.size()) return std::nullopt;
  result.axes = std::move(axes);
  return result;
}

bool same_batch_position(const View& a, const View& b) {
  const auto beside = [](const View& view) {
    std::array<int64_t, 2> sizes{1, 1};  // before and behind the batch
    size_t side = 0;
    for (const size_t part : view.axes[view.batch()]) {
      if (part == 0) {
        side = 1;
      } else {
        sizes[side] *= view.parts[part];
      }
    }
    return sizes;
  };
  return a.batch() == b.batch() && beside(a) == beside(b);
}

View split_batch_axis(const View& view) {
  const size_t batch = view.batch();
  const std::vector<size_t>& axis = view.axes[batch];
  const auto at = std::ranges::find(axis, size_t{0});
  std::vector<std::vector<size_t>> axes;
  if (at != axis.begin()) axes.push_back({axis.begin(), at});
  axes.push_back({0});
  if (at + 1 != axis.end()) axes.push_back({at + 1, axis.end()});
  View result = view;
  const auto place = result.axes.begin() + static_cast<std::ptrdiff_t>(batch);
  result.axes.insert(result.axes.erase(place), axes.begin(), axes.end());
  return result;
}

View merge_axes(const View& view, size_t first, size_t count) {
  if (first + count > view.axes.size()) {
    throw InternalError("internal", "ONNX import",
                        "axes to merge are out of range");
  }
  View result = view;
  const auto into = result.axes.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = into + static_cast<std::ptrdiff_t>(count);
  for (auto axis = into + 1; axis < end; ++axis) {
    into->insert(into->end(), axis->begin(), axis->end());
  }
  if (count > 1) result.axes.erase(into + 1, end);
  return result;
}

RowLayout::RowLayout(const View& given, int axis)
    : view(split_batch_axis(given)),
      order(samples_first(view)),
      batch_(given.batch()),
      count_(view.axes.size() - given.axes.size() + 1) {
  const int behind =
      axis +
      (std::cmp_greater(axis, batch_) ? static_cast<int>(count_) - 1 : 0);
  order.erase(std::ranges::find(order, behind));
  order.push_back(behind);
}

View RowLayout::back(const SymbolicTensor& y) const {
  return merge_axes(view_of(y, order), batch_, count_);
}

SymbolicTensor materialize(const View& view, std::span<const int> order,
                           const Namer& name) {
  if (!is_of_samples(view, order[0])) {
    throw UnsupportedError("unsupported_operator", "",
                           fmt::format("input must have the batch on axis {}, "
                                       "got {}",
                                       order[0], text_of(view)));
  }
  const std::vector<size_t> wanted = parts_in(view, order);
  const Sizes sample = sample_in(view, order);
  if (std::ranges::is_sorted(wanted)) {
    return with_sample(view.tensor, sample, name);
  }
  // Factors that stay adjacent move together.
  std::vector<std::vector<size_t>> blocks;
  for (const size_t part : wanted) {
    if (blocks.empty() || blocks.back().back() + 1 != part)
      blocks.push_back({});
    blocks.back().push_back(part);
  }
  std::vector<size_t> source(blocks.size());  // blocks in the tensor's order
  std::iota(source.begin(), source.end(), size_t{0});
  std::ranges::sort(source, {}, [&](size_t b) { return blocks[b][0]; });
  Sizes sizes;
  std::vector<int64_t> dims(blocks.size());
  for (size_t i = 0; i < source.size(); ++i) {
    int64_t size = 1;
    for (const size_t part : blocks[source[i]]) size *= view.parts[part];
    sizes.push_back(size);
    dims[source[i]] = static_cast<int64_t>(i) + 1;
  }
  if (sizes.size() >= Shape::kMaxRank) {
    throw UnsupportedError(
        "unsupported_operator", "",
        fmt::format("axis order of the input must have at most {} pieces, got "
                    "{}",
                    static_cast<int>(Shape::kMaxRank) - 1, sizes.size()));
  }
  SymbolicTensor y = with_sample(view.tensor, sizes, name);
  y = Permute({.dims = dims, .name = name("permute")})(y);
  return with_sample(y, sample, name);
}

bool has_layout(const View& view, std::span<const int> order) {
  return is_of_samples(view, order[0]) &&
         std::ranges::is_sorted(parts_in(view, order)) &&
         has_sample(view.tensor, sample_in(view, order));
}

std::vector<int> natural_order(const View& view) {
  std::vector<int> order = channels_last(view.rank());
  if ((view.rank() == 3 || view.rank() == 4) && has_layout(view, order)) {
    // With a single row or channel, both orders are equivalent.
    const std::vector<int> own = file_order(view.rank());
    return view.rank() == 3 && has_layout(view, own) ? own : order;
  }
  order = samples_first(view);
  if (has_layout(view, order)) return order;
  std::vector<int> sorted = order;
  std::stable_sort(sorted.begin() + 1, sorted.end(), [&](int a, int b) {
    const auto first = [&](int axis) {
      const auto& parts = view.axes[static_cast<size_t>(axis)];
      return parts.empty() ? size_t{0} : parts[0] + 1;
    };
    return first(a) < first(b);
  });
  return has_layout(view, sorted) ? sorted : order;
}

std::vector<int> axis_first(int rank, int axis) {
  std::vector<int> order = file_order(rank);
  std::rotate(order.begin(), order.begin() + axis, order.begin() + axis + 1);
  return order;
}

std::vector<int> samples_first(const View& view) {
  return axis_first(view.rank(), static_cast<int>(view.batch()));
}

std::vector<int> channels_last(int rank) {
  std::vector<int> order{0};
  for (int axis = 2; axis < rank; ++axis) order.push_back(axis);
  if (rank > 1) order.push_back(1);
  return order;
}

std::vector<int> file_order(int rank) {
  std::vector<int> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

Tensor rows_as_in(const View& view, const Tensor& weight) {
  const std::vector<size_t>& features = view.axes.at(1);
  if (std::ranges::is_sorted(features)) return weight;
  std::vector<int64_t> dims;
  std::vector<int> order(features.size());
  for (size_t i = 0; i < features.size(); ++i) {
    dims.push_back(view.parts[features[i]]);
    order[features[i] - 1] = static_cast<int>(i);
  }
  if (dims.size() >= Shape::kMaxRank) {
    throw UnsupportedError("unsupported_operator", "",
                           "order of the input's features is too complex");
  }
  order.push_back(static_cast<int>(features.size()));
  dims.push_back(weight.size() / weight.shape()[0]);
  return weight.reshaped(Shape(std::span<const int64_t>(dims)))
      .transposed(order)
      .reshaped(weight.shape());
}

}  // namespace octet::io::importing
