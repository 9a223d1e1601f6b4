// Functions of composite.h that move values.
#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/detail/tensor_parts.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

namespace octet {
namespace {

// Largest number of entries of an axis that a function creates.
constexpr int64_t kMostCopies = int64_t{1} << 20;

// Returns an axis counted from the front.
int axis_from_front(const char* op, int axis, int rank) {
  const int result = axis < 0 ? axis + rank : axis;
  if (result >= 0 && result < rank) return result;
  throw ShapeError(
      "out_of_range", op,
      fmt::format("axis must be in [{},{}), got {}", -rank, rank, axis));
}

std::vector<int> axes_in_order(int rank) {
  std::vector<int> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Shape shape_of_dims(const std::vector<int64_t>& dims) {
  return Shape(std::span<const int64_t>(dims));
}

// Checks that a function has an argument for each axis.
void expect_axis_count(const char* op, const char* what, size_t given,
                       const Shape& x) {
  if (std::cmp_equal(given, x.rank())) return;
  throw ShapeError("count_mismatch", op,
                   fmt::format("{} must have a number for each axis of {}, got "
                               "{}",
                               what, x.to_string(), given));
}

void expect_copies(const char* op, int64_t repeats, int64_t size) {
  const int64_t most = kMostCopies / std::max<int64_t>(size, 1);
  if (repeats >= 1 && repeats <= most) return;
  throw ValueError(
      "out_of_range", op,
      fmt::format("repeats must be in [1,{}], got {}", most, repeats));
}

void expect_image_blocks(const char* op, const Shape& x, int64_t block,
                         bool divides) {
  if (divides) return;
  throw ShapeError("invalid_value", op,
                   fmt::format("block_size must divide the sizes of images "
                               "[n,h,w,c], got {} for {}",
                               block, x.to_string()));
}

bool is_block_size(int64_t block) { return block >= 1 && block <= INT16_MAX; }

// Returns the entry copied to a place before the first or after the last entry
// of an axis. Source: numpy.pad.
int64_t padded_entry(int64_t place, int64_t size, const std::string& mode) {
  if (mode == "edge") return std::clamp<int64_t>(place, 0, size - 1);
  const auto within = [&](int64_t period) {
    return ((place % period) + period) % period;
  };
  if (mode == "wrap") return within(size);
  if (mode == "symmetric") {
    return std::min(within(2 * size), 2 * size - 1 - within(2 * size));
  }
  const int64_t period = std::max<int64_t>(2 * (size - 1), 1);
  return std::min(within(period), period - within(period)) % size;
}

void expect_pad_mode(const std::string& mode) {
  const std::vector<std::string> known{"constant", "edge", "reflect",
                                       "symmetric", "wrap"};
  if (std::ranges::find(known, mode) != known.end()) return;
  throw NotFoundError(
      "unknown_name", "pad",
      fmt::format("unknown mode '{}'{}", mode, suggest_names(mode, known)));
}

void expect_pad_fits(const Shape& x, int axis, const Ends& ends,
                     const std::string& mode) {
  if (std::min(ends.begin, ends.end) < 0 ||
      std::max(ends.begin, ends.end) > kMaxWindow) {
    throw ValueError("out_of_range", "pad",
                     fmt::format("pad_width must be in [0,2^31], got {} and {}",
                                 ends.begin, ends.end));
  }
  const int64_t most = std::max(ends.begin, ends.end);
  const int64_t size = x[axis];
  const bool fits = mode == "constant"    ? true
                    : mode == "reflect"   ? most < size
                    : mode == "symmetric" ? most <= size
                                          : size > 0;
  if (fits) return;
  throw ShapeError(
      "out_of_range", "pad",
      fmt::format("axis {} of {} has too few entries for {} more in mode {}",
                  axis, x.to_string(), most, mode));
}

Variable pad_axis(const Variable& x, int axis, const Ends& ends,
                  const std::string& mode, float value) {
  const Shape shape = x.shape();
  if (mode != "constant") {
    return gather(x, axis, padded_entries(shape[axis], ends, mode));
  }
  // [n * before,size,behind]
  const int64_t before = shape.slice(0, axis).size();
  const int64_t behind = shape.slice(axis + 1, shape.rank()).size();
  const Variable y =
      pad1d(reshape(x, {before, shape[axis], behind}), ends, value);
  return reshape(y, shape.with(axis, y.shape()[1]));
}

}  // namespace

Variable moveaxis(const Variable& x, int source, int destination) {
  const int rank = x.shape().rank();
  const int from = axis_from_front("moveaxis", source, rank);
  std::vector<int> axes = axes_in_order(rank);
  axes.erase(axes.begin() + from);
  axes.insert(axes.begin() + axis_from_front("moveaxis", destination, rank),
              from);
  return transpose(x, axes);
}

Variable swapaxes(const Variable& x, int axis1, int axis2) {
  const int rank = x.shape().rank();
  const auto place = [&](int axis) {
    return static_cast<size_t>(axis_from_front("swapaxes", axis, rank));
  };
  std::vector<int> axes = axes_in_order(rank);
  std::swap(axes[place(axis1)], axes[place(axis2)]);
  return transpose(x, axes);
}

Variable squeeze(const Variable& x, const std::vector<int>& axes) {
  const Shape shape = x.shape();
  std::array<bool, Shape::kMaxRank> removed{};
  for (const int given : axes) {
    const int axis = axis_from_front("squeeze", given, shape.rank());
    if (shape[axis] != 1) {
      throw ShapeError("shape_mismatch", "squeeze",
                       fmt::format("axis {} must have size 1, got {}", given,
                                   shape.to_string()));
    }
    removed[static_cast<size_t>(axis)] = true;
  }
  std::vector<int64_t> dims;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!removed[static_cast<size_t>(axis)]) dims.push_back(shape[axis]);
  }
  return reshape(x, shape_of_dims(dims));
}

Variable expand_dims(const Variable& x, int axis) {
  const Shape shape = x.shape();
  const int place = axis_from_front("expand_dims", axis, shape.rank() + 1);
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims.insert(dims.begin() + place, 1);
  return reshape(x, shape_of_dims(dims));
}

Variable flatten(const Variable& x) {
  const Shape shape = x.shape();
  if (shape.rank() == 0) {
    throw ShapeError("invalid_shape", "flatten",
                     "needs a tensor [n,...], got a scalar");
  }
  return reshape(x, {shape[0], shape.slice(1, shape.rank()).size()});
}

// Source: tf.nn.depth_to_space.
Variable depth_to_space(const Variable& x, int64_t block_size) {
  const Shape s = x.shape();
  const int64_t b = block_size;
  expect_image_blocks("depth_to_space", s, b,
                      s.rank() == 4 && is_block_size(b) && s[3] % (b * b) == 0);
  const int64_t c = s[3] / (b * b);
  const Variable blocks = reshape(x, {s[0], s[1], s[2], b, b, c});
  return reshape(transpose(blocks, {0, 1, 3, 2, 4, 5}),
                 {s[0], s[1] * b, s[2] * b, c});
}

Variable space_to_depth(const Variable& x, int64_t block_size) {
  const Shape s = x.shape();
  const int64_t b = block_size;
  expect_image_blocks(
      "space_to_depth", s, b,
      s.rank() == 4 && is_block_size(b) && s[1] % b == 0 && s[2] % b == 0);
  const Variable blocks = reshape(x, {s[0], s[1] / b, b, s[2] / b, b, s[3]});
  return reshape(transpose(blocks, {0, 1, 3, 2, 4, 5}),
                 {s[0], s[1] / b, s[2] / b, s[3] * b * b});
}

Variable stack(const std::vector<Variable>& inputs, int axis) {
  std::vector<Variable> expanded;
  expanded.reserve(inputs.size());
  for (const Variable& x : inputs) expanded.push_back(expand_dims(x, axis));
  return concatenate(expanded, axis);
}

std::vector<Variable> split(const Variable& x, int64_t sections, int axis) {
  const int place = axis_from_front("split", axis, x.shape().rank());
  const int64_t size = x.shape()[place];
  if (sections < 1 || size % sections != 0) {
    throw ShapeError("invalid_value", "split",
                     fmt::format("sections must divide axis {} of {}, got {}",
                                 axis, x.shape().to_string(), sections));
  }
  const int64_t count = size / sections;
  std::vector<Variable> parts;
  for (int64_t i = 0; i < sections; ++i) {
    parts.push_back(slice(x, place, i * count, count));
  }
  return parts;
}

std::vector<Variable> split(const Variable& x,
                            const std::vector<int64_t>& indices, int axis) {
  const int place = axis_from_front("split", axis, x.shape().rank());
  std::vector<int64_t> bounds{0};
  bounds.insert(bounds.end(), indices.begin(), indices.end());
  bounds.push_back(x.shape()[place]);
  std::vector<Variable> parts;
  for (size_t i = 1; i < bounds.size(); ++i) {
    if (bounds[i] <= bounds[i - 1]) {
      throw ShapeError(
          "out_of_range", "split",
          fmt::format("indices must ascend within axis {} of {}, got ({})",
                      axis, x.shape().to_string(), fmt::join(indices, ",")));
    }
    parts.push_back(slice(x, place, bounds[i - 1], bounds[i] - bounds[i - 1]));
  }
  return parts;
}

std::vector<Variable> split(const Variable& x,
                            std::initializer_list<int64_t> indices, int axis) {
  return split(x, std::vector<int64_t>(indices), axis);
}

Variable take(const Variable& x, std::vector<int64_t> indices, int axis) {
  return gather(x, axis, std::move(indices));
}

Variable slice(const Variable& x, const std::vector<int64_t>& start,
               const std::vector<int64_t>& shape) {
  const Shape all = x.shape();
  expect_axis_count("slice", "start", start.size(), all);
  expect_axis_count("slice", "shape", shape.size(), all);
  Variable y = x;
  for (int axis = 0; axis < all.rank(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    const int64_t count = shape[i] == -1 ? all[axis] - start[i] : shape[i];
    if (start[i] == 0 && count == all[axis]) continue;
    y = slice(y, axis, start[i], count);
  }
  return y;
}

Variable flip(const Variable& x, int axis) {
  const int place = axis_from_front("flip", axis, x.shape().rank());
  const int64_t size = x.shape()[place];
  return size == 0 ? x : slice(x, place, size - 1, size, -1);
}

Variable repeat(const Variable& x, int64_t repeats, int axis) {
  const int place = axis_from_front("repeat", axis, x.shape().rank());
  const int64_t size = x.shape()[place];
  expect_copies("repeat", repeats, size);
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < size * repeats; ++i) indices.push_back(i / repeats);
  return gather(x, place, std::move(indices));
}

Variable tile(const Variable& x, const std::vector<int64_t>& repeats) {
  const Shape shape = x.shape();
  expect_axis_count("tile", "repeats", repeats.size(), shape);
  Variable y = x;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const int64_t times = repeats[static_cast<size_t>(axis)];
    if (times == 1) continue;
    expect_copies("tile", times, shape[axis]);
    std::vector<int64_t> indices;
    for (int64_t i = 0; i < times * shape[axis]; ++i) {
      indices.push_back(i % shape[axis]);
    }
    y = gather(y, axis, std::move(indices));
  }
  return y;
}

Variable roll(const Variable& x, int64_t shift, int axis) {
  const int place = axis_from_front("roll", axis, x.shape().rank());
  const int64_t size = x.shape()[place];
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < size; ++i) {
    indices.push_back((i - shift % size + size) % size);
  }
  return gather(x, place, std::move(indices));
}

std::vector<int64_t> padded_entries(int64_t size, const Ends& ends,
                                    const std::string& mode) {
  std::vector<int64_t> result;
  for (int64_t k = -ends.begin; k < size + ends.end; ++k) {
    result.push_back(padded_entry(k, size, mode));
  }
  return result;
}

Variable pad(const Variable& x, const std::vector<Ends>& pad_width,
             const std::string& mode, float value) {
  const Shape shape = x.shape();
  expect_pad_mode(mode);
  expect_axis_count("pad", "pad_width", pad_width.size(), shape);
  Variable y = x;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const Ends& ends = pad_width[static_cast<size_t>(axis)];
    if (ends == Ends{}) continue;
    expect_pad_fits(shape, axis, ends, mode);
    y = pad_axis(y, axis, ends, mode, value);
  }
  return y;
}

}  // namespace octet
