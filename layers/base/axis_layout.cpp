#include <algorithm>
#include <numeric>
#include <utility>

#include <octet/layers/detail/axis_layout.h>

namespace octet {
namespace {

/// Divides `left` by `factor`. Returns false if it is not a divisor.
bool divide(Dim& left, const Dim& factor) {
  if (factor.batch && !left.batch) return false;
  if (left.factor % factor.factor != 0) return false;
  left.factor /= factor.factor;
  left.batch = left.batch && !factor.batch;
  return true;
}

Dim product(const Dim& a, const Dim& b) {
  return {a.factor * b.factor, a.batch || b.batch};
}

}  // namespace

AxisLayout::AxisLayout(std::span<const Dim> dims, std::span<const int> order)
    : axes_(dims.size()) {
  for (size_t i = 0; i < dims.size(); ++i) {
    const size_t axis = order.empty() ? i : static_cast<size_t>(order[i]);
    const Dim& dim = dims[axis];
    stored_.push_back(dim);
    if (dim.batch) {
      axes_[axis].push_back(factors_.size());
      factors_.push_back({1, true});
    }
    if (dim.factor == 1) continue;
    axes_[axis].push_back(factors_.size());
    factors_.push_back({dim.factor, false});
  }
}

std::vector<Dim> AxisLayout::dims() const {
  std::vector<Dim> dims;
  dims.reserve(axes_.size());
  for (size_t axis = 0; axis < axes_.size(); ++axis) dims.push_back(dim(axis));
  return dims;
}

Dim AxisLayout::dim(size_t axis) const {
  Dim dim;
  for (const size_t factor : axes_[axis]) dim = product(dim, factors_[factor]);
  return dim;
}

std::optional<size_t> AxisLayout::batch_axis() const {
  for (size_t axis = 0; axis < axes_.size(); ++axis) {
    for (const size_t factor : axes_[axis]) {
      if (factors_[factor].batch) return axis;
    }
  }
  return std::nullopt;
}

int64_t AxisLayout::before_batch() const {
  int64_t product = 1;
  for (const size_t factor : axes_[*batch_axis()]) {
    if (factors_[factor].batch) break;
    product *= factors_[factor].factor;
  }
  return product;
}

AxisLayout AxisLayout::stored_as(std::span<const Dim> dims) const {
  AxisLayout result = *this;
  result.stored_.assign(dims.begin(), dims.end());
  return result;
}

AxisLayout AxisLayout::without_batch() const {
  AxisLayout result = *this;
  for (Dim& dim : result.stored_) dim.batch = false;
  const auto batch = std::ranges::find(factors_, true, &Dim::batch);
  if (batch == factors_.end()) return result;
  const auto place = static_cast<size_t>(batch - factors_.begin());
  result.factors_.erase(result.factors_.begin() + (batch - factors_.begin()));
  for (auto& axis : result.axes_) {
    std::erase(axis, place);
    for (size_t& factor : axis) factor -= factor > place ? 1 : 0;
  }
  return result;
}

AxisLayout AxisLayout::with_batch(size_t axis) const {
  AxisLayout result = *this;
  result.stored_.front().batch = true;
  result.factors_.insert(result.factors_.begin(), {1, true});
  for (auto& factors : result.axes_) {
    for (size_t& factor : factors) ++factor;
  }
  result.axes_[axis].insert(result.axes_[axis].begin(), 0);
  return result;
}

std::vector<Dim> AxisLayout::factors(int axis) const {
  std::vector<Dim> result;
  for (const size_t factor : axes_[static_cast<size_t>(axis)]) {
    result.push_back(factors_[factor]);
  }
  return result;
}

AxisLayout AxisLayout::transposed(std::span<const int> order) const {
  AxisLayout result = *this;
  for (size_t i = 0; i < order.size(); ++i) {
    result.axes_[i] = axes_[static_cast<size_t>(order[i])];
  }
  return result;
}

void AxisLayout::split_factor(size_t factor, int64_t outer) {
  const int64_t inner = factors_[factor].factor / outer;
  factors_[factor].factor = outer;
  factors_.insert(factors_.begin() + static_cast<std::ptrdiff_t>(factor) + 1,
                  Dim{inner, false});
  for (auto& axis : axes_) {
    for (size_t i = 0; i < axis.size(); ++i) {
      if (axis[i] > factor) ++axis[i];
      if (axis[i] != factor) continue;
      axis.insert(axis.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                  factor + 1);
      ++i;
    }
  }
}

std::optional<AxisLayout> AxisLayout::reshaped(
    std::span<const Dim> dims) const {
  AxisLayout result = *this;
  // Splits factors until each belongs to one axis of the new sizes.
  std::vector<size_t> counts(dims.size());
  size_t next = 0;  // position in flattened()
  for (size_t to = 0; to < dims.size(); ++to) {
    Dim left = dims[to];
    if (left.factor < 1) return std::nullopt;
    while (!left.is_one()) {
      const std::vector<size_t> order = result.flattened();
      if (next == order.size()) return std::nullopt;
      const Dim factor = result.factors_[order[next]];
      if (!factor.batch && factor.factor > left.factor) {
        if (left.factor == 1 || factor.factor % left.factor != 0) {
          return std::nullopt;
        }
        result.split_factor(order[next], left.factor);
        continue;
      }
      if (!divide(left, factor)) return std::nullopt;
      ++counts[to];
      ++next;
    }
  }
  const std::vector<size_t> order = result.flattened();
  if (next != order.size()) return std::nullopt;
  result.axes_.assign(dims.size(), {});
  auto from = order.begin();
  for (size_t to = 0; to < dims.size(); ++to) {
    const auto end = from + static_cast<std::ptrdiff_t>(counts[to]);
    result.axes_[to].assign(from, end);
    from = end;
  }
  return result;
}

std::vector<size_t> AxisLayout::flattened() const {
  std::vector<size_t> factors;
  for (const auto& axis : axes_) {
    factors.insert(factors.end(), axis.begin(), axis.end());
  }
  return factors;
}

bool AxisLayout::in_order() const {
  return std::ranges::is_sorted(flattened());
}

bool AxisLayout::is_stored_in(std::span<const int> order) const {
  size_t next = 0;
  for (const int axis : order) {
    for (const size_t factor : axes_[static_cast<size_t>(axis)]) {
      if (factor < next) return false;
      next = factor;
    }
  }
  return true;
}

std::optional<std::vector<int>> AxisLayout::stored_order() const {
  std::vector<std::pair<size_t, int>> first;  // factor of each axis
  size_t previous = 0;
  for (size_t axis = 0; axis < axes_.size(); ++axis) {
    if (!axes_[axis].empty()) previous = axes_[axis].front();
    first.emplace_back(previous, static_cast<int>(axis));
  }
  std::ranges::stable_sort(first, {}, &std::pair<size_t, int>::first);
  std::vector<int> order;
  for (const auto& [factor, axis] : first) order.push_back(axis);
  if (!is_stored_in(order)) return std::nullopt;
  return order;
}

std::optional<std::vector<int>> AxisLayout::required_order() const {
  std::vector<size_t> owner;  // stored axis of each factor
  for (size_t axis = 0; axis < stored_.size(); ++axis) {
    Dim left = stored_[axis];
    while (!left.is_one()) {
      (void)divide(left, factors_[owner.size()]);
      owner.push_back(axis);
    }
  }
  std::vector<int> order;
  size_t previous = 0;
  for (const size_t factor : flattened()) {
    const bool starts = factor == 0 || owner[factor - 1] != owner[factor];
    if (starts) order.push_back(static_cast<int>(owner[factor]));
    if (!starts && factor != previous + 1) return std::nullopt;
    previous = factor;
  }
  // Axes of size 1 follow the axis that precedes them.
  for (size_t axis = 0; axis < stored_.size(); ++axis) {
    if (!stored_[axis].is_one()) continue;
    const auto before = std::ranges::find(order, static_cast<int>(axis) - 1);
    order.insert(axis == 0 ? order.begin() : before + 1,
                 static_cast<int>(axis));
  }
  return order;
}

Rearrangement AxisLayout::rearrangement() const {
  Rearrangement result;
  // Factors that stay adjacent move together.
  std::vector<std::vector<size_t>> blocks;
  for (const size_t factor : flattened()) {
    if (blocks.empty() || blocks.back().back() + 1 != factor) {
      blocks.emplace_back();
    }
    blocks.back().push_back(factor);
  }
  const std::vector<Dim> logical = dims();
  if (blocks.size() < 2) {
    if (logical != stored_) result.joined = logical;
    return result;
  }
  std::vector<size_t> source(blocks.size());  // blocks as stored
  std::iota(source.begin(), source.end(), size_t{0});
  std::ranges::sort(source, {}, [&](size_t b) { return blocks[b][0]; });
  std::vector<Dim> sizes(blocks.size());
  std::vector<Dim> moved(blocks.size());
  result.order.resize(blocks.size());
  for (size_t i = 0; i < source.size(); ++i) {
    for (const size_t factor : blocks[source[i]]) {
      sizes[i] = product(sizes[i], factors_[factor]);
    }
    result.order[source[i]] = static_cast<int>(i);
    moved[source[i]] = sizes[i];
  }
  if (sizes != stored_) result.split = sizes;
  if (moved != logical) result.joined = logical;
  return result;
}

}  // namespace octet
