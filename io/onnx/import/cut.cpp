#include "cut.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/dense.h>
#include <octet/runtime/index.h>

namespace octet::io::importing {
namespace {

/// Slices the columns of a weight [c,units], or a bias [units], along an axis
/// of `size` entries with `inner` neighboring units each.
Tensor columns_of(const Tensor& weight, int64_t size, int64_t inner,
                  const Cut& cut) {
  const int64_t rows = weight.size() / (size * inner);
  return weight.reshaped({rows, size, inner})
      .transposed({1, 0, 2})
      .slice(cut.first, cut.count)
      .transposed({1, 0, 2})
      .reshaped({rows, cut.count * inner});
}

/// Adds a Dense layer with only the sliced outputs.
View cut_dense(Conversion& c, const ImportedValue& x, const Cut& cut,
               const std::string& suffix) {
  const GraphNode& node = *x.view.tensor.node;
  const size_t part = x.view.axes[cut.axis][0];
  const int64_t size = x.view.parts[part];
  const int64_t inner = std::accumulate(
      x.view.parts.begin() + static_cast<std::ptrdiff_t>(part) + 1,
      x.view.parts.end(), int64_t{1}, std::multiplies<>());
  std::vector<ImportedWeight> weights;
  for (const Parameter& p : node.layer->parameters()) {
    const Shape shape = p.variable.shape();
    const Tensor columns = columns_of(p.variable.value(), size, inner, cut);
    const int64_t units = columns.size() / (shape.rank() == 2 ? shape[0] : 1);
    weights.push_back({p.name, columns.reshaped(shape.with(-1, units))});
  }
  View y = x.view;
  y.tensor =
      c.part_of_layer(node,
                      Dense({.units = weights[0].value.shape()[1],
                             .use_bias = weights.size() > 1}),
                      weights, {size, inner, cut.first, cut.count}, suffix);
  y.parts[part] = cut.count;
  return y;
}

/// Removes factors of size 1.
View without_ones(View view) {
  for (size_t part = view.parts.size(); part-- > 0;) {
    if (view.parts[part] != 1) continue;
    view.parts.erase(view.parts.begin() + static_cast<std::ptrdiff_t>(part));
    for (auto& axis : view.axes) {
      std::erase(axis, part);
      for (size_t& p : axis) p -= p > part ? 1 : 0;
    }
  }
  return view;
}

View cut_any(Conversion& c, const View& given, const std::vector<Cut>& cuts,
             const std::string& suffix) {
  const View view = split_batch_axis(given);
  const auto more = static_cast<size_t>(view.rank() - given.rank());
  const std::vector<int> order = natural_order(view);
  std::vector<Index> index(order.size(), Slice());
  for (const Cut& cut : cuts) {
    const size_t axis = cut.axis + (cut.axis > given.batch() ? more : 0);
    const int64_t last = cut.first + cut.count * cut.step;
    index[static_cast<size_t>(std::ranges::find(order, static_cast<int>(axis)) -
                              order.begin())] =
        Slice(cut.first, last < 0 ? std::nullopt : std::optional(last),
              cut.step);
  }
  const Operand x{materialize(view, order, c.namer())};
  const View y = view_of(
      c.named(x.tensor.index(std::move(index)), {x}, suffix.c_str()), order);
  return merge_axes(y, given.batch(), 1 + more);
}

}  // namespace

bool is_dense_output(const ImportedValue& x, const Cut& cut) {
  const Layer& layer = *x.view.tensor.node->layer;
  if (layer.class_name() != "Dense" || layer.activation() != "linear" ||
      x.view.axes[cut.axis].size() != 1 || x.qparams != nullptr ||
      cut.step != 1) {
    return false;
  }
  // Factors before `units` belong to tokens.
  const Shape& shape = x.view.tensor.shape();
  const int64_t before = shape.slice(1, shape.rank() - 1).size();
  int64_t outer = 1;
  for (size_t part = 1; part < x.view.axes[cut.axis][0]; ++part) {
    outer *= x.view.parts[part];
  }
  return outer % before == 0;
}

View cut_of(Conversion& c, const ImportedValue& x, const std::vector<Cut>& cuts,
            const std::string& suffix) {
  ImportedValue y = x;
  std::vector<Cut> others;
  for (const Cut& cut : cuts) {
    const int64_t size = sizes_of(x.view)[cut.axis];
    if (has_batch(size)) {
      c.refuse("axis must not be the batch axis");
    }
    const int64_t last = cut.first + (cut.count - 1) * cut.step;
    if (cut.count < 1 || std::min(cut.first, last) < 0 ||
        std::max(cut.first, last) >= size) {
      c.refuse(fmt::format(
          "slice of {} entries from {} on exceeds axis {} of {}", cut.count,
          cut.first, cut.axis, importing::text_of(x.view)));
    }
    if (cut.count == size && cut.step == 1) continue;
    if (is_dense_output(y, cut)) {
      y.view = without_ones(cut_dense(c, y, cut, suffix));
    } else {
      others.push_back(cut);
    }
  }
  return others.empty() ? y.view : cut_any(c, y.view, others, "");
}

}  // namespace octet::io::importing
