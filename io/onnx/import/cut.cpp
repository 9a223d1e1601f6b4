#include "cut.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/dense.h>
#include <octet/runtime/tensor.h>

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

/// The entries of an axis in memory, of which each is `inner` neighbors.
struct StoredAxis {
  std::vector<int> order;  ///< of all axes
  int64_t outer = 1, size = 1, inner = 1;
};

/// Returns nothing if an axis is not stored contiguously.
std::optional<StoredAxis> stored_axis(const ImportedValue& x, int64_t axis) {
  const auto order = x.layout.stored_order();
  if (!order) return std::nullopt;
  const Dims dims = x.dims();
  StoredAxis result{*order};
  bool behind = false;
  for (const int next : *order) {
    const int64_t size = dims[static_cast<size_t>(next)].factor;
    if (next == axis) {
      result.size = size;
      behind = true;
    } else {
      (behind ? result.inner : result.outer) *= size;
    }
  }
  return result;
}

/// Adds a Dense layer with only the sliced outputs.
ImportedValue cut_dense(Conversion& c, const ImportedValue& x, const Cut& cut,
                        const std::string& suffix) {
  const GraphNode& node = *x.tensor.node;
  const StoredAxis axis = *stored_axis(x, cut.axis);
  std::vector<ImportedWeight> weights;
  for (const Parameter& p : node.layer->parameters()) {
    const Shape shape = p.variable.shape();
    const Tensor columns =
        columns_of(p.variable.value(), axis.size, axis.inner, cut);
    const int64_t units = columns.size() / (shape.rank() == 2 ? shape[0] : 1);
    weights.push_back({p.name, columns.reshaped(shape.with(-1, units))});
  }
  const SymbolicTensor y = c.part_of_layer(
      node,
      Dense({.units = weights[0].value.shape()[1],
             .use_bias = weights.size() > 1}),
      weights, {axis.size, axis.inner, cut.first, cut.count}, suffix);
  Dims dims = x.dims();
  dims[static_cast<size_t>(cut.axis)].factor = cut.count;
  return value_of(y, AxisLayout(dims, axis.order));
}

ImportedValue cut_any(Conversion& c, const ImportedValue& x,
                      const std::vector<Cut>& cuts, const std::string& suffix) {
  const LayerAxes axes(x);
  std::vector<Index> index(axes.order.size(), Slice());
  for (const Cut& cut : cuts) {
    const int64_t last = cut.first + cut.count * cut.step;
    index[static_cast<size_t>(axes.position(cut.axis))] = Slice(
        cut.first, last < 0 ? std::nullopt : std::optional(last), cut.step);
  }
  const Operand in{c.operand(axes).tensor};
  return axes.back(
      c.named(in.tensor.index(std::move(index)), {in}, suffix.c_str()));
}

}  // namespace

bool is_dense_output(const ImportedValue& x, const Cut& cut) {
  const Layer& layer = *x.tensor.node->layer;
  if (layer.class_name() != "Dense" || layer.facts().activation != "linear" ||
      x.qparams != nullptr || cut.step != 1) {
    return false;
  }
  // Entries before `units` belong to tokens.
  const Shape& shape = x.tensor.shape();
  const auto axis = stored_axis(x, cut.axis);
  return axis && axis->outer % shape.slice(1, shape.rank() - 1).size() == 0;
}

ImportedValue cut_of(Conversion& c, const ImportedValue& x,
                     const std::vector<Cut>& cuts, const std::string& suffix) {
  ImportedValue y = x;
  std::vector<Cut> others;
  for (const Cut& cut : cuts) {
    if (x.has_batch(static_cast<int>(cut.axis))) {
      c.refuse("axis must not be the batch axis");
    }
    const int64_t size = x.dims()[static_cast<size_t>(cut.axis)].factor;
    const int64_t last = cut.first + (cut.count - 1) * cut.step;
    if (cut.count < 1 || std::min(cut.first, last) < 0 ||
        std::max(cut.first, last) >= size) {
      c.refuse(
          fmt::format("slice of {} entries from {} on exceeds axis {} of {}",
                      cut.count, cut.first, cut.axis, x.text()));
    }
    if (cut.count == size && cut.step == 1) continue;
    if (is_dense_output(y, cut)) {
      y = cut_dense(c, y, cut, suffix);
    } else {
      others.push_back(cut);
    }
  }
  return others.empty() ? y : cut_any(c, y, others, "");
}

}  // namespace octet::io::importing
