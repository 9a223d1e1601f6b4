#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/activation.h>
#include <octet/layers/clip_by_value.h>
#include <octet/layers/concatenate.h>
#include <octet/layers/divide.h>
#include <octet/layers/flatten.h>
#include <octet/layers/gather.h>
#include <octet/layers/get_item.h>
#include <octet/layers/global_average_pooling1d.h>
#include <octet/layers/global_average_pooling2d.h>
#include <octet/layers/global_max_pooling1d.h>
#include <octet/layers/global_max_pooling2d.h>
#include <octet/layers/matmul.h>
#include <octet/layers/maximum.h>
#include <octet/layers/minimum.h>
#include <octet/layers/ops.h>
#include <octet/layers/permute.h>
#include <octet/layers/power.h>
#include <octet/layers/reduce.h>
#include <octet/layers/reshape.h>
#include <octet/layers/softmax.h>
#include <octet/layers/unary.h>
#include <octet/layers/where.h>
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
SymbolicTensor prod(const SymbolicTensor& x, const std::vector<int64_t>& axes,
                    Keepdims keepdims) {
  return reduce("prod", x, axes, keepdims);
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
  constexpr int64_t kMostEntries = int64_t{1} << 31;
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

SymbolicTensor abs(const SymbolicTensor& x) { return Unary("abs")(x); }
SymbolicTensor ceil(const SymbolicTensor& x) { return Unary("ceil")(x); }
SymbolicTensor cos(const SymbolicTensor& x) { return Unary("cos")(x); }
SymbolicTensor erf(const SymbolicTensor& x) { return Unary("erf")(x); }
SymbolicTensor exp(const SymbolicTensor& x) {
  return Activation("exponential")(x);
}
SymbolicTensor floor(const SymbolicTensor& x) { return Unary("floor")(x); }
SymbolicTensor log(const SymbolicTensor& x) { return Unary("log")(x); }
SymbolicTensor power(const SymbolicTensor& x, float exponent) {
  return Power(exponent)(x);
}
SymbolicTensor reciprocal(const SymbolicTensor& x) {
  return Unary("reciprocal")(x);
}
SymbolicTensor relu(const SymbolicTensor& x) { return Activation("relu")(x); }
SymbolicTensor round(const SymbolicTensor& x) { return Unary("round")(x); }
SymbolicTensor sigmoid(const SymbolicTensor& x) {
  return Activation("sigmoid")(x);
}
SymbolicTensor sign(const SymbolicTensor& x) { return Unary("sign")(x); }
SymbolicTensor sin(const SymbolicTensor& x) { return Unary("sin")(x); }
SymbolicTensor softmax(const SymbolicTensor& x, int64_t axis) {
  return Softmax({.axis = axis})(x);
}
SymbolicTensor sqrt(const SymbolicTensor& x) { return Unary("sqrt")(x); }
SymbolicTensor square(const SymbolicTensor& x) { return Unary("square")(x); }
SymbolicTensor tanh(const SymbolicTensor& x) { return Activation("tanh")(x); }
SymbolicTensor clip(const SymbolicTensor& x, std::optional<float> min,
                    std::optional<float> max) {
  return ClipByValue({.min = min, .max = max})(x);
}

SymbolicTensor maximum(const SymbolicTensor& x, const SymbolicTensor& y) {
  return Maximum()({x, y});
}
SymbolicTensor minimum(const SymbolicTensor& x, const SymbolicTensor& y) {
  return Minimum()({x, y});
}
SymbolicTensor divide(const SymbolicTensor& x, const SymbolicTensor& y) {
  return Divide()({x, y});
}
SymbolicTensor where(const SymbolicTensor& condition, const SymbolicTensor& x,
                     const SymbolicTensor& y) {
  return Where()({condition, x, y});
}
SymbolicTensor matmul(const SymbolicTensor& a, const SymbolicTensor& b) {
  return Matmul()({a, b});
}

}  // namespace octet
