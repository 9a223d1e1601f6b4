#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/merging.h>
#include <octet/layers/ops.h>
#include <octet/layers/pooling.h>
#include <octet/layers/reshaping.h>
#include <octet/runtime/error.h>

namespace octet {
namespace {

// Returns an axis of a sample, 1 to rank - 1.
int sample_axis(const char* op, int64_t axis, int rank) {
  const int64_t result = axis < 0 ? axis + rank : axis;
  if (result < 1 || result >= rank) {
    throw ShapeError("out_of_range", op,
                     fmt::format("axis must be an axis of a sample, 1 to {} or "
                                 "-1 to {}, got {}",
                                 rank - 1, 1 - rank, axis));
  }
  return static_cast<int>(result);
}

// Whether the axes are the pixels of an image or the steps of a sequence.
bool are_positions(const Shape& x, const std::vector<int64_t>& axes) {
  std::vector<int64_t> sorted;
  sorted.reserve(axes.size());
  for (const int64_t axis : axes) {
    sorted.push_back(axis < 0 ? axis + x.rank() : axis);
  }
  std::ranges::sort(sorted);
  return (x.rank() == 4 && sorted == std::vector<int64_t>{1, 2}) ||
         (x.rank() == 3 && sorted == std::vector<int64_t>{1});
}

SymbolicTensor reduce(const char* operation, const SymbolicTensor& x,
                      const std::vector<int64_t>& axes, Keepdims keepdims) {
  return Reduce({.operation = operation,
                 .axes = axes,
                 .keepdims = keepdims == Keepdims::yes})(x);
}

template <class Over1D, class Over2D>
SymbolicTensor pool(const SymbolicTensor& x, Keepdims keepdims) {
  const bool keep = keepdims == Keepdims::yes;
  if (x.shape().rank() == 3) return Over1D({.keepdims = keep})(x);
  return Over2D({.keepdims = keep})(x);
}

SymbolicTensor with_sample(const SymbolicTensor& x,
                           std::vector<int64_t> sample) {
  return Reshape({.target_shape = std::move(sample)})(x);
}

// The slice of an axis; the others stay whole.
SymbolicTensor along(const SymbolicTensor& x, int axis, const Slice& slice) {
  std::vector<Index> index(static_cast<size_t>(axis), Index(Slice()));
  index.emplace_back(slice);
  return x.index(std::move(index));
}

// Checks that a function has an argument for each axis.
void expect_axes(const char* op, const char* what, size_t given,
                 const Shape& x) {
  if (std::cmp_equal(given, x.rank())) return;
  throw ShapeError("count_mismatch", op,
                   fmt::format("{} must have a number for each axis of {}, got "
                               "{}",
                               what, x.to_string(), given));
}

// Largest number of entries of an axis that a function creates.
constexpr int64_t kMostEntries = int64_t{1} << 20;

std::vector<int64_t> permutation_of(int rank) {
  std::vector<int64_t> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// Splits axes, permutes and merges them.
SymbolicTensor rearrange_blocks(const SymbolicTensor& x,
                                const std::vector<int64_t>& split,
                                const std::vector<int64_t>& merged) {
  return reshape(transpose(reshape(x, split), {0, 1, 3, 2, 4, 5}), merged);
}

void expect_blocks(const char* op, const Shape& x, int64_t block,
                   bool divides) {
  if (divides) return;
  throw ShapeError("invalid_value", op,
                   fmt::format("block_size must divide the sizes of images "
                               "[n,h,w,c], got {} for {}",
                               block, x.to_string()));
}

}  // namespace

SymbolicTensor mean(const SymbolicTensor& x, const std::vector<int64_t>& axes,
                    Keepdims keepdims) {
  return are_positions(x.shape(), axes)
             ? pool<GlobalAveragePooling1D, GlobalAveragePooling2D>(x, keepdims)
             : reduce("mean", x, axes, keepdims);
}
SymbolicTensor max(const SymbolicTensor& x, const std::vector<int64_t>& axes,
                   Keepdims keepdims) {
  return are_positions(x.shape(), axes)
             ? pool<GlobalMaxPooling1D, GlobalMaxPooling2D>(x, keepdims)
             : reduce("max", x, axes, keepdims);
}
SymbolicTensor min(const SymbolicTensor& x, const std::vector<int64_t>& axes,
                   Keepdims keepdims) {
  return reduce("min", x, axes, keepdims);
}
SymbolicTensor sum(const SymbolicTensor& x, const std::vector<int64_t>& axes,
                   Keepdims keepdims) {
  return reduce("sum", x, axes, keepdims);
}
SymbolicTensor argmax(const SymbolicTensor& x, int64_t axis,
                      Keepdims keepdims) {
  return reduce("argmax", x, {axis}, keepdims);
}
SymbolicTensor argmin(const SymbolicTensor& x, int64_t axis,
                      Keepdims keepdims) {
  return reduce("argmin", x, {axis}, keepdims);
}
SymbolicTensor prod(const SymbolicTensor& x, const std::vector<int64_t>& axes,
                    Keepdims keepdims) {
  return reduce("prod", x, axes, keepdims);
}

SymbolicTensor logsumexp(const SymbolicTensor& x,
                         const std::vector<int64_t>& axes, Keepdims keepdims) {
  const SymbolicTensor most = max(x, axes, Keepdims::yes);
  const SymbolicTensor y = log(sum(exp(x - most), axes, Keepdims::yes)) + most;
  return keepdims == Keepdims::yes ? y : squeeze(y, axes);
}

SymbolicTensor transpose(const SymbolicTensor& x,
                         const std::vector<int64_t>& axes) {
  if (axes.empty() || axes[0] != 0) {
    throw ShapeError("invalid_value", "transpose",
                     fmt::format("axes must begin with 0, the batch, got ({})",
                                 fmt::join(axes, ",")));
  }
  const int rank = x.shape().rank();
  std::vector<int64_t> dims;
  for (size_t i = 1; i < axes.size(); ++i) {
    dims.push_back(sample_axis("transpose", axes[i], rank));
  }
  std::vector<int64_t> sorted = dims;
  std::ranges::sort(sorted);
  if (std::ssize(axes) != rank ||
      std::ranges::adjacent_find(sorted) != sorted.end()) {
    throw ShapeError(
        "invalid_value", "transpose",
        fmt::format("axes must be a permutation of the {} axes of "
                    "{}, got ({})",
                    rank, x.shape().to_string(), fmt::join(axes, ",")));
  }
  return Permute({.dims = std::move(dims)})(x);
}

SymbolicTensor moveaxis(const SymbolicTensor& x, int64_t source,
                        int64_t destination) {
  const int rank = x.shape().rank();
  const int from = sample_axis("moveaxis", source, rank);
  std::vector<int64_t> axes = permutation_of(rank);
  axes.erase(axes.begin() + from);
  axes.insert(axes.begin() + sample_axis("moveaxis", destination, rank), from);
  return transpose(x, axes);
}

SymbolicTensor swapaxes(const SymbolicTensor& x, int64_t axis1, int64_t axis2) {
  const int rank = x.shape().rank();
  std::vector<int64_t> axes = permutation_of(rank);
  std::swap(axes[static_cast<size_t>(sample_axis("swapaxes", axis1, rank))],
            axes[static_cast<size_t>(sample_axis("swapaxes", axis2, rank))]);
  return transpose(x, axes);
}

SymbolicTensor reshape(const SymbolicTensor& x,
                       const std::vector<int64_t>& shape) {
  if (shape.size() < 2 || shape[0] != -1) {
    throw ShapeError(
        "invalid_shape", "reshape",
        fmt::format("shape must begin with -1, the batch, and have "
                    "further axes, got ({}). Hint: reshape(x, "
                    "{{-1, 49, 64}})",
                    fmt::join(shape, ",")));
  }
  return with_sample(x, {shape.begin() + 1, shape.end()});
}

SymbolicTensor squeeze(const SymbolicTensor& x,
                       const std::vector<int64_t>& axes) {
  const Shape& shape = x.shape();
  std::vector<bool> removed(static_cast<size_t>(shape.rank()));
  for (const int64_t given : axes) {
    const int axis = sample_axis("squeeze", given, shape.rank());
    if (shape[axis] != 1) {
      throw ShapeError("shape_mismatch", "squeeze",
                       fmt::format("axis {} must have size 1, got {}", given,
                                   shape.to_string()));
    }
    removed[static_cast<size_t>(axis)] = true;
  }
  std::vector<int64_t> sample;
  for (int axis = 1; axis < shape.rank(); ++axis) {
    if (!removed[static_cast<size_t>(axis)]) sample.push_back(shape[axis]);
  }
  if (sample.empty()) {
    throw ShapeError("out_of_range", "squeeze",
                     fmt::format("axes leave no axis of {} but the batch",
                                 shape.to_string()));
  }
  return with_sample(x, std::move(sample));
}

SymbolicTensor expand_dims(const SymbolicTensor& x, int64_t axis) {
  const Shape& shape = x.shape();
  const int place = sample_axis("expand_dims", axis, shape.rank() + 1);
  std::vector<int64_t> sample;
  for (int i = 1; i < shape.rank(); ++i) sample.push_back(shape[i]);
  sample.insert(sample.begin() + place - 1, 1);
  return with_sample(x, std::move(sample));
}

SymbolicTensor flatten(const SymbolicTensor& x) { return Flatten()(x); }

// Source: tf.nn.depth_to_space.
SymbolicTensor depth_to_space(const SymbolicTensor& x, int64_t block_size) {
  const Shape& s = x.shape();
  const int64_t b = block_size;
  expect_blocks(
      "depth_to_space", s, b,
      s.rank() == 4 && b >= 1 && b <= INT16_MAX && s[3] % (b * b) == 0);
  const int64_t c = s[3] / (b * b);
  return rearrange_blocks(x, {-1, s[1], s[2], b, b, c},
                          {-1, s[1] * b, s[2] * b, c});
}

SymbolicTensor space_to_depth(const SymbolicTensor& x, int64_t block_size) {
  const Shape& s = x.shape();
  const int64_t b = block_size;
  expect_blocks("space_to_depth", s, b,
                s.rank() == 4 && b >= 1 && b <= INT16_MAX && s[1] % b == 0 &&
                    s[2] % b == 0);
  return rearrange_blocks(x, {-1, s[1] / b, b, s[2] / b, b, s[3]},
                          {-1, s[1] / b, s[2] / b, s[3] * b * b});
}

SymbolicTensor concatenate(std::vector<SymbolicTensor> inputs, int64_t axis) {
  return Concatenate({.axis = axis})(std::move(inputs));
}

SymbolicTensor stack(const std::vector<SymbolicTensor>& inputs, int64_t axis) {
  std::vector<SymbolicTensor> expanded;
  expanded.reserve(inputs.size());
  for (const SymbolicTensor& x : inputs) {
    expanded.push_back(expand_dims(x, axis));
  }
  return concatenate(std::move(expanded), axis);
}

std::vector<SymbolicTensor> split(const SymbolicTensor& x, int64_t sections,
                                  int64_t axis) {
  const int place = sample_axis("split", axis, x.shape().rank());
  const int64_t size = x.shape()[place];
  if (sections < 1 || size % sections != 0) {
    throw ShapeError("invalid_value", "split",
                     fmt::format("sections must divide axis {} of {}, got {}",
                                 axis, x.shape().to_string(), sections));
  }
  std::vector<int64_t> indices;
  for (int64_t i = 1; i < sections; ++i) indices.push_back(i * size / sections);
  return split(x, indices, axis);
}

std::vector<SymbolicTensor> split(const SymbolicTensor& x,
                                  const std::vector<int64_t>& indices,
                                  int64_t axis) {
  const int place = sample_axis("split", axis, x.shape().rank());
  std::vector<int64_t> bounds{0};
  bounds.insert(bounds.end(), indices.begin(), indices.end());
  bounds.push_back(x.shape()[place]);
  std::vector<SymbolicTensor> parts;
  for (size_t i = 1; i < bounds.size(); ++i) {
    if (bounds[i] <= bounds[i - 1]) {
      throw ShapeError(
          "out_of_range", "split",
          fmt::format("indices must ascend within axis {} of {}, "
                      "got ({})",
                      axis, x.shape().to_string(), fmt::join(indices, ",")));
    }
    parts.push_back(along(x, place, Slice(bounds[i - 1], bounds[i])));
  }
  return parts;
}

std::vector<SymbolicTensor> split(const SymbolicTensor& x,
                                  std::initializer_list<int64_t> indices,
                                  int64_t axis) {
  return split(x, std::vector<int64_t>(indices), axis);
}

SymbolicTensor take(const SymbolicTensor& x, std::vector<int64_t> indices,
                    int64_t axis) {
  return Gather({.indices = std::move(indices), .axis = axis})(x);
}

SymbolicTensor flip(const SymbolicTensor& x, int64_t axis) {
  return along(x, sample_axis("flip", axis, x.shape().rank()),
               Slice(std::nullopt, std::nullopt, -1));
}

SymbolicTensor repeat(const SymbolicTensor& x, int64_t repeats, int64_t axis) {
  const int64_t size = x.shape()[sample_axis("repeat", axis, x.shape().rank())];
  if (repeats < 1 || repeats > kMostEntries / size) {
    throw ValueError("out_of_range", "repeat",
                     fmt::format("repeats must be in [1,{}], got {}",
                                 kMostEntries / size, repeats));
  }
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < size * repeats; ++i) indices.push_back(i / repeats);
  return take(x, std::move(indices), axis);
}

SymbolicTensor tile(const SymbolicTensor& x,
                    const std::vector<int64_t>& repeats) {
  const Shape& shape = x.shape();
  expect_axes("tile", "repeats", repeats.size(), shape);
  SymbolicTensor y = x;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const int64_t times = repeats[static_cast<size_t>(axis)];
    if (times == 1) continue;
    if (axis == 0 || times < 1 || times > kMostEntries / shape[axis]) {
      throw ValueError("out_of_range", "tile",
                       fmt::format("repeats must be 1 for the batch and "
                                   "at least 1 otherwise, for at most {} "
                                   "entries of an axis, got ({}) for {}",
                                   kMostEntries, fmt::join(repeats, ","),
                                   shape.to_string()));
    }
    std::vector<int64_t> indices;
    for (int64_t i = 0; i < times * shape[axis]; ++i) {
      indices.push_back(i % shape[axis]);
    }
    y = take(y, std::move(indices), axis);
  }
  return y;
}

SymbolicTensor roll(const SymbolicTensor& x, int64_t shift, int64_t axis) {
  const int place = sample_axis("roll", axis, x.shape().rank());
  const int64_t size = x.shape()[place];
  std::vector<int64_t> indices(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i) {
    const int64_t from = (i - shift % size + size) % size;
    indices[static_cast<size_t>(i)] = from;
  }
  return take(x, std::move(indices), place);
}

SymbolicTensor slice(const SymbolicTensor& x, const std::vector<int64_t>& start,
                     const std::vector<int64_t>& shape) {
  const Shape& all = x.shape();
  expect_axes("slice", "start", start.size(), all);
  expect_axes("slice", "shape", shape.size(), all);
  std::vector<Index> index{Slice()};
  bool fits = start[0] == 0 && shape[0] == -1;
  for (int axis = 1; axis < all.rank(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    const int64_t rest = all[axis] - start[i];
    const int64_t count = shape[i] == -1 ? rest : shape[i];
    fits = fits && start[i] >= 0 && count >= 1 && count <= rest;
    index.push_back(Slice(start[i], start[i] + count));
  }
  if (!fits) {
    throw ShapeError(
        "out_of_range", "slice",
        fmt::format("start and shape must select entries of each axis of {} "
                    "and the whole batch, 0 and -1, got ({}) and ({})",
                    all.to_string(), fmt::join(start, ","),
                    fmt::join(shape, ",")));
  }
  return x.index(std::move(index));
}

SymbolicTensor pad(const SymbolicTensor& x, const std::vector<Ends>& pad_width,
                   const std::string& mode, float value) {
  const int rank = x.shape().rank();
  expect_axes("pad", "pad_width", pad_width.size(), x.shape());
  if (pad_width[0] != Ends{}) {
    throw ShapeError("out_of_range", "pad",
                     "pad_width must be 0 for the batch");
  }
  const bool zeros = mode == "constant" && value == 0;
  if (zeros && (rank == 3 || rank == 4) && pad_width.back() == Ends{}) {
    if (rank == 3) return ZeroPadding1D({.padding = pad_width[1]})(x);
    return ZeroPadding2D({.padding = {pad_width[1], pad_width[2]}})(x);
  }
  PadOptions options{.mode = mode, .value = value};
  for (int axis = 1; axis < rank; ++axis) {
    const Ends& ends = pad_width[static_cast<size_t>(axis)];
    options.begin.push_back(ends.begin);
    options.end.push_back(ends.end);
  }
  return Pad(options)(x);
}

}  // namespace octet
