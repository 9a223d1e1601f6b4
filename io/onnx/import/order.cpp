// Operators that change the axis order or the shape. They change the layout; a
// layer is added only if a layout cannot express the result.
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/layers/reshaping.h>
#include <octet/runtime/detail/printable.h>
#include <octet/runtime/error.h>

#include "converters.h"
#include "inputs.h"

namespace octet::io::importing {
namespace {

/// Returns the layout of the first input for a node that changes its axes. In a
/// file of one sample, its batch is a size of 1 like others.
AxisLayout layout_to_change(const Conversion& c) {
  const AxisLayout& layout = c.value(0).layout;
  return c.has_one_sample() ? layout.without_batch() : layout;
}

void set_layout(Conversion& c, AxisLayout layout) {
  c.report("order of axes");
  if (c.has_one_sample()) layout = with_leading_batch(layout);
  c.forward_layout(std::move(layout));
}

/// Returns the number of values before the batch.
int64_t before_samples(const AxisLayout& layout) {
  int64_t size = layout.before_batch();
  const Dims dims = layout.dims();
  for (size_t axis = 0; axis < *layout.batch_axis(); ++axis) {
    size *= dims[axis].factor;
  }
  return size;
}

/// Returns the axis of `dims` that contains the batch of `batch` samples, with
/// `before` values before it; nothing if no axis can. If a batch of one fits
/// several axes, the batch alone is preferred, then an axis shared with later
/// values, such as heads, but not with features, which are last.
std::optional<size_t> axis_of_samples(const Dims& dims, int64_t batch,
                                      int64_t before) {
  enum Fit { none, with_features, with_values_before, leading, alone };
  std::optional<size_t> best;
  Fit best_fit = none;
  int64_t outer = 1;
  for (size_t i = 0; i < dims.size() && before % outer == 0; ++i) {
    const int64_t size = dims[i].factor;
    if (size % (before / outer * batch) == 0) {
      const Fit fit = outer != before        ? with_values_before
                      : size == batch        ? alone
                      : i + 1 == dims.size() ? with_features
                                             : leading;
      if (fit > best_fit) {
        best = i;
        best_fit = fit;
      }
    }
    outer *= size;
  }
  return best;
}

/// Returns the target sizes of a Reshape; -1 for the inferred size.
Dims sizes_asked_for(const Conversion& c) {
  Dims target = c.opset() < 5 && c.inputs() < 2
                    ? fixed_dims(c.integers("shape"))
                    : c.sizes(1);
  const Dims own = layout_to_change(c).dims();
  for (size_t i = 0; i < target.size(); ++i) {
    if (target[i].factor != 0) continue;
    if (c.integer("allowzero", 0) != 0 || i >= own.size()) {
      c.refuse(fmt::format("sizes must be >= 1, got {}", text_of(target)));
    }
    target[i] = own[i];
  }
  return target;
}

/// Inserts the inferred size and the batch into the target sizes of a layout.
Dims with_samples(const Conversion& c, const AxisLayout& layout, Dims target) {
  const std::string asked = text_of(target);
  Dim all = *product(layout.dims());
  const bool open = std::ranges::any_of(target, &Dim::batch);
  const int64_t batch = open || !all.batch ? 0 : fixed_batch(c.graph());
  if (batch > 0) {
    all.batch = false;
    if (__builtin_mul_overflow(all.factor, batch, &all.factor)) {
      c.refuse("value is too large");
    }
  }
  const auto rest = std::ranges::find(target, -1, &Dim::factor);
  if (rest != target.end()) *rest = {};
  const auto known = product(target);
  if (!known) c.refuse(fmt::format("sizes must be >= 1, got {}", asked));
  if (rest != target.end()) {
    *rest = {all.factor / known->factor, all.batch && !known->batch};
  }
  bool fits = product(target) == all;
  if (fits && batch > 0) {
    const auto at = axis_of_samples(target, batch, before_samples(layout));
    fits = at.has_value();
    if (fits) target[*at] = {target[*at].factor / batch, true};
  }
  if (!fits) {
    c.refuse(fmt::format("sizes {} do not keep the samples of {} separate",
                         asked, c.value(0).text()));
  }
  return target;
}

void reshape_to(Conversion& c, const AxisLayout& layout, const Dims& target) {
  const ImportedValue& x = c.value(0);
  const std::optional<AxisLayout> y = layout.reshaped(target);
  if (!y) {
    const bool sample = !layout.batch_axis();
    if (!sample && (!x.samples_lead() || target[0] != kBatch)) {
      c.refuse(fmt::format("batch must be the first axis, got {} for {}",
                           text_of(target), x.text()));
    }
    // The sizes do not divide each other.
    LayerAxes axes(x.with(layout));
    axes.order = file_order(axes.value.rank());
    const Operand operand{c.operand(axes).tensor};
    Sizes sizes;
    for (const Dim& dim : target) {
      if (!dim.batch) sizes.push_back(dim.factor);
    }
    ImportedValue result =
        value_of(c.add(Reshape({.target_shape = sizes}), {operand}),
                 file_order(static_cast<int>(sizes.size()) + 1));
    if (sample) {
      result.layout = with_leading_batch(sample_of(result.layout));
    }
    return c.forward_layout(std::move(result));
  }
  // Adds a Flatten for features, the usual layer in networks.
  const ImportedValue result = x.with(*y);
  if (result.rank() == 2 && result.samples_lead() &&
      x.tensor.shape().rank() > 2) {
    return c.forward_layout(value_of(c.add(Flatten(), {{x.tensor}}), *y));
  }
  set_layout(c, *y);
}

Sizes axes_of(const Conversion& c, int rank) {
  Sizes axes = c.has(1) ? c.integers(1) : c.integers("axes");
  if (axes.empty()) c.refuse("axes must not be empty");
  for (int64_t& axis : axes) axis = c.axis_of(axis, rank);
  std::ranges::sort(axes);
  if (std::ranges::adjacent_find(axes) != axes.end()) {
    c.refuse("axes must be unique");
  }
  return axes;
}

/// Splits axes, transposes and merges them.
void rearrange(Conversion& c, const Dims& parts, const std::vector<int>& order,
               const Dims& merged) {
  const ImportedValue& x = c.value(0);
  const auto split = x.layout.reshaped(parts);
  const auto y = split ? split->transposed(order).reshaped(merged) : split;
  if (!y) {
    c.refuse(fmt::format("blocksize must divide the sizes of {}", x.text()));
  }
  set_layout(c, *y);
}

/// Returns the sizes of the images, and blocksize.
std::pair<Dims, Dim> blocks_of(const Conversion& c) {
  const ImportedValue& x = c.value(0);
  const int64_t block = c.integer("blocksize", 0);
  if (x.rank() != 4 || !x.samples_lead() || block < 1 || block > INT16_MAX) {
    c.refuse(
        fmt::format("input must be images with a blocksize >= 1, got {} "
                    "and {}",
                    x.text(), block));
  }
  return {x.dims(), {block}};
}

/// Returns whether channels are ordered by block, then depth (DCR), rather than
/// by depth, then block (CRD).
bool is_depth_last(const Conversion& c) {
  const std::string mode = c.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") {
    c.refuse(fmt::format("mode must be DCR or CRD, got '{}'", printable(mode)));
  }
  return mode == "DCR";
}

}  // namespace

// Source: ONNX DepthToSpace-13.
void convert_depth_to_space(Conversion& c) {
  const auto [s, b] = blocks_of(c);
  const int64_t n = b.factor;
  const Dim left{s[1].factor / (n * n)};
  if (s[1].factor % (n * n) != 0)
    c.refuse("blocksize must divide the channels");
  const Dims merged{kBatch, left, {s[2].factor * n}, {s[3].factor * n}};
  if (!is_depth_last(c)) {
    return rearrange(c, {kBatch, left, b, b, s[2], s[3]}, {0, 1, 4, 2, 5, 3},
                     merged);
  }
  rearrange(c, {kBatch, b, b, left, s[2], s[3]}, {0, 3, 4, 1, 5, 2}, merged);
}

// Source: ONNX SpaceToDepth-28; DCR is the only mode before.
void convert_space_to_depth(Conversion& c) {
  const auto [s, b] = blocks_of(c);
  const int64_t n = b.factor;
  if (s[2].factor % n != 0 || s[3].factor % n != 0) {
    c.refuse("blocksize must divide the image");
  }
  const Dim rows{s[2].factor / n}, columns{s[3].factor / n};
  rearrange(c, {kBatch, s[1], rows, b, columns, b},
            is_depth_last(c) ? std::vector<int>{0, 3, 5, 1, 2, 4}
                             : std::vector<int>{0, 1, 3, 5, 2, 4},
            {kBatch, {s[1].factor * n * n}, rows, columns});
}

void convert_flatten(Conversion& c) {
  const AxisLayout layout = layout_to_change(c);
  const auto rank = static_cast<int64_t>(layout.rank());
  // The range is [-rank, rank], unlike that of other axes.
  int64_t axis = c.integer("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) {
    c.refuse(
        fmt::format("axis {} is out of range for {}", axis, c.value(0).text()));
  }
  const Dims dims = layout.dims();
  const auto all = std::span<const Dim>(dims);
  const auto before = product(all.first(static_cast<size_t>(axis)));
  const auto behind = product(all.subspan(static_cast<size_t>(axis)));
  reshape_to(c, layout, {*before, *behind});
}

void convert_reshape(Conversion& c) { reshape_as(c, sizes_asked_for(c)); }

void reshape_as(Conversion& c, const Dims& sizes) {
  const AxisLayout layout = layout_to_change(c);
  reshape_to(c, layout, with_samples(c, layout, sizes));
}

void convert_shape(Conversion& c) {
  const Dims dims = c.value(0).dims();
  const auto rank = static_cast<int64_t>(dims.size());
  const auto clamped = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const int64_t start = clamped(c.integer("start", 0));
  const int64_t end = std::max(start, clamped(c.integer("end", rank)));
  c.set_sizes({end - start}, {dims.begin() + start, dims.begin() + end});
}

void convert_size(Conversion& c) {
  c.set_sizes({}, {*product(c.value(0).dims())});
}

void convert_squeeze(Conversion& c) {
  const AxisLayout layout = layout_to_change(c);
  const Sizes axes = axes_of(c, static_cast<int>(layout.rank()));
  const Dims dims = layout.dims();
  for (const int64_t axis : axes) {
    if (dims[static_cast<size_t>(axis)].is_one()) continue;
    c.refuse(fmt::format("axes must have size 1, got axis {} of {}", axis,
                         c.value(0).text()));
  }
  set_layout(c, without_axes(layout, axes));
}

void convert_unsqueeze(Conversion& c) {
  const AxisLayout layout = layout_to_change(c);
  const auto more = (c.has(1) ? c.integers(1) : c.integers("axes")).size();
  const auto rank = static_cast<int>(layout.rank() + more);
  const Sizes axes = axes_of(c, rank);
  if (rank > Shape::kMaxRank) c.refuse("result must have at most 8 axes");
  set_layout(c, with_axes(layout, axes));
}

void convert_transpose(Conversion& c) {
  const ImportedValue& x = c.value(0);
  Sizes perm = c.integers("perm");
  if (perm.empty()) {
    for (int axis = x.rank(); axis-- > 0;) perm.push_back(axis);
  }
  if (!std::ranges::is_permutation(perm, file_order(x.rank()))) {
    c.refuse(
        fmt::format("perm must be a permutation of the axes of {}, got "
                    "[{}]",
                    x.text(), fmt::join(perm, ",")));
  }
  c.report("order of axes");
  c.forward_layout(
      x.layout.transposed(std::vector<int>(perm.begin(), perm.end())));
}

}  // namespace octet::io::importing
