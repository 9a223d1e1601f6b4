// Operators that change the axis order or the shape. They change the view; a
// layer is added only if the view cannot express the result.
#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/layers/flatten.h>
#include <octet/layers/reshape.h>
#include <octet/runtime/error.h>
#include <octet/runtime/printable.h>

#include "converters.h"
#include "inputs.h"

namespace octet::io::importing {
namespace {

/// Returns the product of sizes, batch included; nothing for a size below 1 or
/// a product beyond 64 bits.
std::optional<int64_t> product(std::span<const int64_t> sizes) {
  int64_t result = 1;
  for (const int64_t size : sizes) {
    if (size < 1 || __builtin_mul_overflow(result, size, &result)) {
      return std::nullopt;
    }
  }
  return result;
}

/// Returns the number of values before the batch within its axis and the axes
/// before it.
int64_t before_samples(const View& view) {
  int64_t size = 1;
  for (const auto& axis : view.axes) {
    for (const size_t part : axis) {
      if (part == 0) return size;
      size *= view.parts[part];
    }
  }
  return size;
}

/// Returns the axis of `sizes` that contains the batch of `batch` samples, with
/// `before` values before it; nothing if no axis can. If a batch of one fits
/// several axes, the batch alone is preferred, then an axis shared with later
/// values, such as heads, but not with features, which are last.
std::optional<size_t> axis_of_samples(const Sizes& sizes, int64_t batch,
                                      int64_t before) {
  enum Fit { none, with_features, with_values_before, leading, alone };
  std::optional<size_t> best;
  Fit best_fit = none;
  int64_t outer = 1;
  for (size_t i = 0; i < sizes.size() && before % outer == 0; ++i) {
    if (sizes[i] % (before / outer * batch) == 0) {
      const Fit fit = outer != before         ? with_values_before
                      : sizes[i] == batch     ? alone
                      : i + 1 == sizes.size() ? with_features
                                              : leading;
      if (fit > best_fit) {
        best = i;
        best_fit = fit;
      }
    }
    outer *= sizes[i];
  }
  return best;
}

/// Returns the target sizes of a Reshape; -1 for the inferred size.
Sizes sizes_asked_for(const Conversion& c) {
  Sizes target =
      c.opset() < 5 && c.inputs() < 2 ? c.integers("shape") : c.sizes(1);
  const Sizes own = sizes_of(c.view(0));
  for (size_t i = 0; i < target.size(); ++i) {
    if (target[i] != 0) continue;
    if (c.integer("allowzero", 0) != 0 || i >= own.size()) {
      c.refuse(fmt::format("sizes must be >= 1, got {}",
                           importing::text_of(target)));
    }
    target[i] = own[i];
  }
  return target;
}

/// Inserts the batch into the target sizes.
Sizes with_samples(const Conversion& c, const View& view, Sizes target) {
  const std::string asked = importing::text_of(target);
  const bool open = std::ranges::any_of(target, has_batch);
  const int64_t batch = open ? 0 : fixed_batch(c.graph());
  const int64_t samples = batch > 0 ? batch : kBatch;
  int64_t all = 0;
  if (__builtin_mul_overflow(sample_size(view), samples, &all)) {
    c.refuse("value is too large");
  }
  const auto rest = std::ranges::find(target, -1);
  if (rest != target.end()) *rest = 1;
  const auto known = product(target);
  if (!known) {
    c.refuse(fmt::format("sizes must be >= 1, got {}", asked));
  }
  if (rest != target.end()) *rest = all / *known;
  bool fits = product(target) == all;
  if (fits && batch > 0) {
    const auto at = axis_of_samples(target, batch, before_samples(view));
    fits = at.has_value();
    if (fits) target[*at] = target[*at] / batch * kBatch;
  }
  if (!fits) {
    c.refuse(fmt::format("sizes {} do not keep the samples of {} separate",
                         asked, importing::text_of(view)));
  }
  return target;
}

void reshape_to(Conversion& c, const Sizes& target) {
  const View& view = c.view(0);
  std::optional<View> y = reshaped(view, target);
  if (!y) {
    if (!view.samples_lead() || target[0] != kBatch) {
      c.refuse(fmt::format("batch must be the first axis, got {} for {}",
                           importing::text_of(target),
                           importing::text_of(view)));
    }
    // The sizes do not divide each other.
    const Operand x{c.operand(0, file_order(view.rank())).tensor};
    const Sizes sample(target.begin() + 1, target.end());
    return c.forward_layout(
        view_of(c.add(Reshape({.target_shape = sample}), {x}),
                file_order(static_cast<int>(target.size()))));
  }
  // Adds a Flatten for features, the usual layer in networks.
  if (y->rank() == 2 && y->samples_lead() && y->tensor.shape().rank() > 2) {
    y->tensor = c.add(Flatten(), {{y->tensor}});
  } else {
    c.report("order of axes");
  }
  c.forward_layout(std::move(*y));
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

/// Splits axes, permutes and merges them.
void rearrange(Conversion& c, const Sizes& apart, const Sizes& perm,
               const Sizes& joined) {
  const auto split = reshaped(c.view(0), apart);
  const auto y =
      split ? reshaped(transposed(*split, perm), joined) : std::nullopt;
  if (!y) {
    c.refuse(fmt::format("blocksize must divide the sizes of {}",
                         importing::text_of(c.view(0))));
  }
  c.report("order of axes");
  c.forward_layout(*y);
}

/// Returns the sizes of the images, and blocksize.
std::pair<Sizes, int64_t> blocks_of(const Conversion& c) {
  const Sizes sizes = sizes_of(c.view(0));
  const int64_t block = c.integer("blocksize", 0);
  if (sizes.size() != 4 || !c.view(0).samples_lead() || block < 1 ||
      block > INT16_MAX) {
    c.refuse(
        fmt::format("input must be images with a blocksize >= 1, got {} "
                    "and {}",
                    importing::text_of(c.view(0)), block));
  }
  return {sizes, block};
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
  const int64_t left = s[1] / (b * b);
  if (s[1] % (b * b) != 0) c.refuse("blocksize must divide the channels");
  const Sizes joined{kBatch, left, s[2] * b, s[3] * b};
  if (!is_depth_last(c)) {
    return rearrange(c, {kBatch, left, b, b, s[2], s[3]}, {0, 1, 4, 2, 5, 3},
                     joined);
  }
  rearrange(c, {kBatch, b, b, left, s[2], s[3]}, {0, 3, 4, 1, 5, 2}, joined);
}

// Source: ONNX SpaceToDepth-28; DCR is the only mode before.
void convert_space_to_depth(Conversion& c) {
  const auto [s, b] = blocks_of(c);
  if (s[2] % b != 0 || s[3] % b != 0) {
    c.refuse("blocksize must divide the image");
  }
  const bool depth_last = is_depth_last(c);
  rearrange(c, {kBatch, s[1], s[2] / b, b, s[3] / b, b},
            depth_last ? std::vector<int64_t>{0, 3, 5, 1, 2, 4}
                       : std::vector<int64_t>{0, 1, 3, 5, 2, 4},
            {kBatch, s[1] * b * b, s[2] / b, s[3] / b});
}

void convert_flatten(Conversion& c) {
  const View& view = c.view(0);
  // The range is [-rank, rank], unlike that of other axes.
  int64_t axis = c.integer("axis", 1);
  if (axis < 0) axis += view.rank();
  const Sizes sizes = sizes_of(view);
  if (axis < 0 || axis > view.rank()) {
    c.refuse(fmt::format("axis {} is out of range for {}", axis,
                         importing::text_of(view)));
  }
  const auto all = std::span<const int64_t>(sizes);
  const auto before = product(all.first(static_cast<size_t>(axis)));
  const auto behind = product(all.subspan(static_cast<size_t>(axis)));
  if (!before || !behind) c.refuse("value is too large");
  reshape_to(c, {*before, *behind});
}

void convert_reshape(Conversion& c) { reshape_as(c, sizes_asked_for(c)); }

void reshape_as(Conversion& c, const Sizes& sizes) {
  reshape_to(c, with_samples(c, c.view(0), sizes));
}

void convert_shape(Conversion& c) {
  const Sizes sizes = sizes_of(c.view(0));
  const auto rank = static_cast<int64_t>(sizes.size());
  const auto clamped = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const int64_t start = clamped(c.integer("start", 0));
  const int64_t end = std::max(start, clamped(c.integer("end", rank)));
  const Sizes part(sizes.begin() + start, sizes.begin() + end);
  c.give_constant(
      Tensor::of<int64_t>({end - start}, std::span<const int64_t>(part)));
}

void convert_size(Conversion& c) {
  int64_t size = 1;
  for (const int64_t n : sizes_of(c.view(0))) {
    if (__builtin_mul_overflow(size, n, &size)) {
      c.refuse("size must fit 64 bits with the batch");
    }
  }
  c.give_constant(Tensor::of<int64_t>({}, {size}));
}

void convert_squeeze(Conversion& c) {
  View view = c.view(0);
  const Sizes axes = axes_of(c, view.rank());
  const Sizes sizes = sizes_of(view);
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    const auto at = static_cast<size_t>(*axis);
    if (sizes[at] != 1) {
      c.refuse(fmt::format("axes must have size 1, got axis {} of {}", *axis,
                           importing::text_of(view)));
    }
    view.axes.erase(view.axes.begin() + *axis);
  }
  c.report("order of axes");
  c.forward_layout(std::move(view));
}

void convert_unsqueeze(Conversion& c) {
  View view = c.view(0);
  const size_t more = (c.has(1) ? c.integers(1) : c.integers("axes")).size();
  const Sizes axes = axes_of(c, view.rank() + static_cast<int>(more));
  for (const int64_t axis : axes) {
    view.axes.insert(view.axes.begin() + axis, std::vector<size_t>());
  }
  if (view.rank() > Shape::kMaxRank)
    c.refuse("result must have at most 8 axes");
  c.report("order of axes");
  c.forward_layout(std::move(view));
}

void convert_transpose(Conversion& c) {
  const View& view = c.view(0);
  Sizes perm = c.integers("perm");
  if (perm.empty()) {
    for (int axis = view.rank(); axis-- > 0;) perm.push_back(axis);
  }
  Sizes sorted = perm;
  std::ranges::sort(sorted);
  bool valid = std::ssize(perm) == view.rank();
  for (size_t i = 0; valid && i < sorted.size(); ++i) {
    valid = sorted[i] == static_cast<int64_t>(i);
  }
  if (!valid) {
    c.refuse(
        fmt::format("perm must be a permutation of the axes of {}, got "
                    "[{}]",
                    importing::text_of(view), fmt::join(perm, ",")));
  }
  c.report("order of axes");
  c.forward_layout(transposed(view, perm));
}

}  // namespace octet::io::importing
