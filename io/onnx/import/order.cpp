// Operators that only say in which order and by which axes values are seen:
// they change the view, and a layer appears where that does not do.
#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/layers/flatten.h>
#include <octet/layers/reshape.h>
#include <octet/runtime/error.h>

#include "converters.h"
#include "inputs.h"

namespace octet::io::importing {
namespace {

int64_t sample_size(const View& view) {
  int64_t size = 1;
  for (const int64_t part : view.parts) size *= part;
  return size;
}

std::string sizes_text(const Sizes& sizes) {
  std::string text = "[";
  for (const int64_t size : sizes) {
    if (text.size() > 1) text += ',';
    text += size == kBatch ? "N" : std::to_string(size);
  }
  return text + "]";
}

/// The product of all but the batch and -1; nothing on overflow or below 1.
std::optional<int64_t> known_size(const Sizes& sizes) {
  int64_t known = 1;
  for (const int64_t size : sizes) {
    if (size == kBatch || size == -1) continue;
    if (size < 1 || __builtin_mul_overflow(known, size, &known)) {
      return std::nullopt;
    }
  }
  return known;
}

/// The sizes that a Reshape asks for, with the batch where samples go.
Sizes target_of(const Conversion& c, const View& view) {
  Sizes target =
      c.opset() < 5 && c.inputs() < 2 ? c.integers("shape") : c.integers(1);
  const Sizes own = sizes_of(view);
  const std::string asked = sizes_text(target);
  for (size_t i = 0; i < target.size(); ++i) {
    if (target[i] != 0) continue;
    if (c.integer("allowzero", 0) != 0 || i >= own.size()) {
      c.refuse(fmt::format("expected sizes >= 1, got {}", asked));
    }
    target[i] = own[i];
  }
  const int64_t sample = sample_size(view);
  const auto open = std::ranges::find(target, -1);
  const auto known = known_size(target);
  if (!known || std::ranges::count(target, -1) > 1 ||
      std::ranges::count(target, kBatch) > 1) {
    c.refuse(fmt::format("expected sizes of at least 1, got {}", asked));
  }
  if (std::ranges::find(target, kBatch) == target.end()) {
    const int64_t batch = fixed_batch(c.graph());
    if (!target.empty() && batch > 0 && target[0] == batch) {
      target[0] = kBatch;
    } else if (open != target.end() && *known == sample) {
      *open = kBatch;
    }
  }
  const auto rest = std::ranges::find(target, -1);
  if (rest != target.end()) *rest = sample / *known_size(target);
  if (std::ranges::find(target, kBatch) == target.end() ||
      known_size(target) != sample) {
    c.refuse(
        fmt::format("expected sizes that keep the samples of {} apart, "
                    "got {}",
                    importing::text_of(view), asked));
  }
  return target;
}

void reshape_to(Conversion& c, const Sizes& target) {
  const View& view = c.view(0);
  std::optional<View> y = reshaped(view, target);
  if (!y) {
    if (view.batch != 0 || target[0] != kBatch) {
      c.refuse(fmt::format("expected the samples in front, got {} for {}",
                           sizes_text(target), importing::text_of(view)));
    }
    // Through sizes that do not divide one another.
    const Operand x{c.operand(0, file_order(view.rank())).tensor};
    const Sizes sample(target.begin() + 1, target.end());
    return c.pass(view_of(c.add(Reshape({.target_shape = sample}), {x}),
                          file_order(static_cast<int>(target.size()))));
  }
  // Features are flat, so that the node is a layer in most networks.
  if (y->rank() == 2 && y->tensor.shape().rank() > 2) {
    y->tensor = c.add(Flatten(), {{y->tensor}});
  } else {
    c.note("order of axes");
  }
  c.pass(std::move(*y));
}

Sizes axes_of(const Conversion& c, int rank) {
  Sizes axes = c.has(1) ? c.integers(1) : c.integers("axes");
  if (axes.empty()) c.refuse("axes: expected some, got none");
  for (int64_t& axis : axes) axis = c.axis_of(axis, rank);
  std::ranges::sort(axes);
  if (std::ranges::adjacent_find(axes) != axes.end()) {
    c.refuse("axes: expected each once");
  }
  return axes;
}

/// Through sizes that are taken apart, reordered and joined again.
void rearrange(Conversion& c, const Sizes& apart, const Sizes& perm,
               const Sizes& joined) {
  const auto split = reshaped(c.view(0), apart);
  const auto y =
      split ? reshaped(transposed(*split, perm), joined) : std::nullopt;
  if (!y) {
    c.refuse(fmt::format("blocksize: expected a divisor of the sizes of {}",
                         importing::text_of(c.view(0))));
  }
  c.note("order of axes");
  c.pass(*y);
}

/// The sizes of images, and blocksize.
std::pair<Sizes, int64_t> blocks_of(const Conversion& c) {
  const Sizes sizes = sizes_of(c.view(0));
  const int64_t block = c.integer("blocksize", 0);
  if (sizes.size() != 4 || c.view(0).batch != 0 || block < 1 ||
      block > INT16_MAX) {
    c.refuse(fmt::format("expected images and a blocksize >= 1, got {} and {}",
                         importing::text_of(c.view(0)), block));
  }
  return {sizes, block};
}

}  // namespace

// Source: ONNX DepthToSpace-13.
void convert_depth_to_space(Conversion& c) {
  const auto [s, b] = blocks_of(c);
  const int64_t left = s[1] / (b * b);
  if (s[1] % (b * b) != 0) c.refuse("blocksize: expected one that divides");
  const Sizes joined{kBatch, left, s[2] * b, s[3] * b};
  if (c.text("mode", "DCR") == "CRD") {
    return rearrange(c, {kBatch, left, b, b, s[2], s[3]}, {0, 1, 4, 2, 5, 3},
                     joined);
  }
  rearrange(c, {kBatch, b, b, left, s[2], s[3]}, {0, 3, 4, 1, 5, 2}, joined);
}

// Source: ONNX SpaceToDepth-13.
void convert_space_to_depth(Conversion& c) {
  const auto [s, b] = blocks_of(c);
  if (s[2] % b != 0 || s[3] % b != 0) {
    c.refuse("blocksize: expected one that divides");
  }
  rearrange(c, {kBatch, s[1], s[2] / b, b, s[3] / b, b}, {0, 3, 5, 1, 2, 4},
            {kBatch, s[1] * b * b, s[2] / b, s[3] / b});
}

void convert_flatten(Conversion& c) {
  const View& view = c.view(0);
  // From 0 to the rank, but from -rank on.
  int64_t axis = c.integer("axis", 1);
  if (axis < 0) axis += view.rank();
  if (axis != 1 || view.batch != 0) {
    c.refuse("axis: expected 1; samples stay apart");
  }
  reshape_to(c, {kBatch, sample_size(view)});
}

void convert_reshape(Conversion& c) { reshape_to(c, target_of(c, c.view(0))); }

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

void convert_squeeze(Conversion& c) {
  View view = c.view(0);
  const Sizes axes = axes_of(c, view.rank());
  const Sizes sizes = sizes_of(view);
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    const auto at = static_cast<size_t>(*axis);
    if (sizes[at] != 1) {
      c.refuse(fmt::format("axes: expected axes of one entry, got {} of {}",
                           *axis, importing::text_of(view)));
    }
    view.axes.erase(view.axes.begin() + *axis);
    if (at < view.batch) --view.batch;
  }
  c.note("order of axes");
  c.pass(std::move(view));
}

void convert_unsqueeze(Conversion& c) {
  View view = c.view(0);
  const size_t more = (c.has(1) ? c.integers(1) : c.integers("axes")).size();
  const Sizes axes = axes_of(c, view.rank() + static_cast<int>(more));
  for (const int64_t axis : axes) {
    view.axes.insert(view.axes.begin() + axis, std::vector<size_t>());
    if (static_cast<size_t>(axis) <= view.batch) ++view.batch;
  }
  if (view.rank() > Shape::kMaxRank) c.refuse("expected at most 8 axes");
  c.note("order of axes");
  c.pass(std::move(view));
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
    c.refuse(fmt::format("perm: expected an order of the axes of {}, got [{}]",
                         importing::text_of(view), fmt::join(perm, ",")));
  }
  c.note("order of axes");
  c.pass(transposed(view, perm));
}

}  // namespace octet::io::importing
