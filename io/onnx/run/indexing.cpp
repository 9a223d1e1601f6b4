// Gather, scatter and related operators with indices.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "../tensors.h"
#include "channels.h"
#include "numbers.h"
#include "operators.h"
#include "strided_iterator.h"

namespace octet::io::run {
namespace {

constexpr int64_t kTopKInput = 10;  // first opset with k as an input

// Returns a non-negative index.
int64_t index_within(const NodeContext& context, int64_t index, int64_t size) {
  if (index < -size || index >= size) {
    context.refuse(fmt::format("indices must be from {} to {}, got {}", -size,
                               size - 1, index));
  }
  return index < 0 ? index + size : index;
}

// Returns input i as int64; indices may be int32.
Tensor indices_of(const NodeContext& context, size_t i) {
  const Tensor& x = context.input(i);
  if (x.dtype() == DType::i64) return x;
  Tensor y = context.make(dims_of(x), DType::i64);
  std::ranges::copy(x.data<int32_t>(), y.data<int64_t>().begin());
  return y;
}

// Index tuples for the axes of x from `first` on.
struct Tuples {
  Tensor indices;
  int64_t length = 0;  // of a tuple
  int64_t count = 0;
  int64_t first = 0;
  int64_t slice = 0;  // elements selected by a tuple

  // Returns the offset in x selected by tuple t.
  int64_t offset(const NodeContext& context, const Tensor& x, int64_t t) const {
    const Dims strides = strides_of(dims_of(x));
    const int64_t* tuple = indices.data<int64_t>().data() + t * length;
    int64_t offset = 0;
    for (int64_t k = 0; k < length; ++k) {
      const auto axis = static_cast<size_t>(first + k);
      offset += strides[axis] * index_within(context, tuple[k],
                                             x.shape()[static_cast<int>(axis)]);
    }
    return offset;
  }
};

Tuples tuples_of(const NodeContext& context, const Tensor& x, int64_t first) {
  Tuples tuples;
  tuples.indices = indices_of(context, 1);
  const int rank = tuples.indices.shape().rank();
  if (rank < 1 || first < 0 || first >= rank || first >= x.shape().rank()) {
    context.refuse(fmt::format("indices {} are no lists of indices for {}",
                               tuples.indices.shape().to_string(),
                               x.shape().to_string()));
  }
  tuples.first = first;
  tuples.length = tuples.indices.shape()[rank - 1];
  if (first + tuples.length > x.shape().rank()) {
    context.refuse(fmt::format(
        "tuples must have at most {} indices for {}, got "
        "{}",
        x.shape().rank() - first, x.shape().to_string(), tuples.length));
  }
  tuples.count = tuples.indices.shape().slice(0, rank - 1).size();
  tuples.slice =
      x.shape()
          .slice(static_cast<int>(first + tuples.length), x.shape().rank())
          .size();
  return tuples;
}

enum class Reduction { none, add, mul, max, min };

Reduction reduction_of(const NodeContext& context) {
  const std::string name = context.text("reduction", "none");
  if (name == "none") return Reduction::none;
  if (name == "add") return Reduction::add;
  if (name == "mul") return Reduction::mul;
  if (name == "max") return Reduction::max;
  if (name == "min") return Reduction::min;
  context.refuse("reduction must be none, add, mul, max or min, got '" +
                 printable(name) + "'");
}

template <class T>
T merged(Reduction reduction, T before, T update) {
  if constexpr (!std::is_same_v<T, bool>) {
    if (reduction == Reduction::add) return plus(before, update);
    if (reduction == Reduction::mul) return times(before, update);
    if (reduction == Reduction::max) return larger(before, update);
    if (reduction == Reduction::min) return smaller(before, update);
  }
  return update;
}

Tensor copy_of(const NodeContext& context, const Tensor& x) {
  Tensor y = context.make(dims_of(x), x.dtype());
  if (x.bytes() > 0) {
    std::memcpy(y.raw(), x.raw(), static_cast<size_t>(x.bytes()));
  }
  return y;
}

// Calls body(index of an element of `indices`, offset in x) along an axis.
template <class Body>
void for_each_index(const NodeContext& context, const Tensor& x,
                    const Tensor& indices, const Body& body) {
  const int axis = context.axis(context.integer("axis", 0), x.shape().rank());
  const Dims dims = dims_of(indices), own = dims_of(x);
  bool fits = dims.size() == own.size();
  for (size_t d = 0; fits && d < dims.size(); ++d) {
    fits = static_cast<int>(d) == axis || dims[d] <= own[d];
  }
  if (!fits) {
    context.refuse(fmt::format("indices {} do not fit {}", dims_text(dims),
                               x.shape().to_string()));
  }
  Dims strides = strides_of(own);
  const int64_t stride = strides[static_cast<size_t>(axis)];
  strides[static_cast<size_t>(axis)] = 0;
  const auto values = indices.data<int64_t>();
  for (int64_t i = 0; i < indices.size(); ++i) {
    const int64_t index =
        index_within(context, values[static_cast<size_t>(i)], x.shape()[axis]);
    body(i, offset_at(i, dims, strides) + index * stride);
  }
}

// Returns element i of x as an integer, for any type that OneHot allows.
int64_t whole(const NodeContext& context, const Tensor& x, int64_t i) {
  const auto at = static_cast<size_t>(i);
  return visit<int64_t, int32_t, float>(
      context, x.dtype(), [&]<class T>(T) -> int64_t {
        if constexpr (std::is_same_v<T, float>) {
          return saturated<int64_t>(std::trunc(x.f32()[at]));
        } else {
          return x.data<T>()[at];
        }
      });
}

// Returns input i, a single such number.
int64_t whole_input(const NodeContext& context, size_t i) {
  const Tensor& x = context.input(i);
  if (x.size() != 1) {
    context.refuse(fmt::format("input {} must be a single number, got {}", i,
                               x.shape().to_string()));
  }
  return whole(context, x, 0);
}

}  // namespace

Values gather_nd(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const int64_t batch = context.integer("batch_dims", 0);
  const Tuples tuples = tuples_of(context, x, batch);
  const Dims own = dims_of(x);
  Dims dims = dims_of(tuples.indices);
  if (!std::equal(own.begin(), own.begin() + batch, dims.begin())) {
    context.refuse(fmt::format("first {} axes must be equal, got {} and {}",
                               batch, x.shape().to_string(),
                               tuples.indices.shape().to_string()));
  }
  dims.pop_back();
  dims.insert(dims.end(), own.begin() + batch + tuples.length, own.end());
  Tensor y = context.make(dims, x.dtype());
  const int64_t batches = x.shape().slice(0, static_cast<int>(batch)).size();
  const int64_t element = size_of(x.dtype());
  const int64_t bytes = tuples.slice * element;
  if (bytes == 0 || batches == 0) return {y};
  for (int64_t t = 0; t < tuples.count; ++t) {
    const int64_t from = t / (tuples.count / batches) * (x.size() / batches) +
                         tuples.offset(context, x, t);
    std::memcpy(static_cast<char*>(y.raw()) + t * bytes,
                static_cast<const char*>(x.raw()) + from * element,
                static_cast<size_t>(bytes));
  }
  return {y};
}

Values gather_elements(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const Tensor indices = indices_of(context, 1);
  Tensor y = context.make(dims_of(indices), x.dtype());
  visit_any(context, x.dtype(), [&]<class T>(T) {
    const T* from = x.data<T>().data();
    T* to = y.data<T>().data();
    for_each_index(context, x, indices,
                   [&](int64_t i, int64_t at) { to[i] = from[at]; });
  });
  return {y};
}

Values scatter_elements(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const Tensor indices = indices_of(context, 1);
  const Tensor& updates = context.input(2);
  const Reduction reduction = reduction_of(context);
  if (updates.shape() != indices.shape()) {
    context.refuse(fmt::format("updates must have shape {}, got {}",
                               indices.shape().to_string(),
                               updates.shape().to_string()));
  }
  Tensor y = copy_of(context, x);
  visit_any(context, x.dtype(), [&]<class T>(T) {
    const T* from = updates.data<T>().data();
    T* to = y.data<T>().data();
    for_each_index(context, x, indices, [&](int64_t i, int64_t at) {
      to[at] = merged(reduction, to[at], from[i]);
    });
  });
  return {y};
}

Values scatter_nd(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& updates = context.input(2);
  const Tuples tuples = tuples_of(context, x, 0);
  const Reduction reduction = reduction_of(context);
  if (updates.size() != tuples.count * tuples.slice) {
    context.refuse(fmt::format("must have {} updates, got {}",
                               tuples.count * tuples.slice,
                               updates.shape().to_string()));
  }
  Tensor y = copy_of(context, x);
  visit_any(context, x.dtype(), [&]<class T>(T) {
    for (int64_t t = 0; t < tuples.count; ++t) {
      const T* from = updates.data<T>().data() + t * tuples.slice;
      T* to = y.data<T>().data() + tuples.offset(context, x, t);
      for (int64_t i = 0; i < tuples.slice; ++i) {
        to[i] = merged(reduction, to[i], from[i]);
      }
    }
  });
  return {y};
}

// Indices [rank, count] of nonzero elements in the order of the elements.
Values non_zero(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const auto rank = static_cast<int64_t>(x.shape().rank());
  return {visit_any(context, x.dtype(), [&]<class T>(T) {
    const auto values = x.data<T>();
    const auto count = x.size() - std::ranges::count(values, T{});
    Tensor y = context.make({rank, count}, DType::i64);
    const Dims dims = dims_of(x), strides = strides_of(dims);
    int64_t found = 0;
    for (int64_t i = 0; i < x.size(); ++i) {
      if (values[static_cast<size_t>(i)] == T{}) continue;
      for (size_t d = 0; d < dims.size(); ++d) {
        y.data<int64_t>()[d * static_cast<size_t>(count) +
                          static_cast<size_t>(found)] =
            i / strides[d] % dims[d];
      }
      ++found;
    }
    return y;
  })};
}

// values[1] at the indices, values[0] elsewhere.
Values one_hot(const NodeContext& context) {
  const Tensor& indices = context.input(0);
  const Tensor& values = context.input(2);
  if (values.size() != 2) {
    context.refuse("values must be two numbers, got " +
                   values.shape().to_string());
  }
  const int64_t depth = whole_input(context, 1);
  const int rank = indices.shape().rank();
  const int axis = context.axis(context.integer("axis", -1), rank + 1);
  Dims dims = dims_of(indices);
  dims.insert(dims.begin() + axis, depth);
  Tensor y = context.make(dims, values.dtype());
  const int64_t inner = indices.shape().slice(axis, rank).size();
  visit_any(context, values.dtype(), [&]<class T>(T) {
    const T off = values.data<T>()[0], on = values.data<T>()[1];
    T* to = y.data<T>().data();
    std::fill_n(to, y.size(), off);
    for (int64_t i = 0; i < indices.size(); ++i) {
      int64_t index = whole(context, indices, i);
      if (index < 0) index += depth;
      if (index < 0 || index >= depth) continue;
      to[(i / inner * depth + index) * inner + i % inner] = on;
    }
  });
  return {y};
}

// The k largest or smallest numbers along an axis and their indices; the first
// of equal ones comes first.
Values top_k(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const int axis = context.axis(context.integer("axis", -1), x.shape().rank());
  const int64_t length = x.shape()[axis];
  const int64_t k = context.opset() < kTopKInput ? context.integer("k", -1)
                                                 : whole_input(context, 1);
  if (k < 0 || k > length) {
    context.refuse(fmt::format("k must be from 0 to {}, got {}", length, k));
  }
  const bool most = context.integer("largest", 1) != 0;
  Dims dims = dims_of(x);
  dims[static_cast<size_t>(axis)] = k;
  Tensor y = context.make(dims, x.dtype());
  Tensor found = context.make(dims, DType::i64);
  const int64_t inner = x.shape().slice(axis + 1, x.shape().rank()).size();
  visit_number(context, x.dtype(), [&]<class T>(T) {
    Dims order(static_cast<size_t>(length));
    for (int64_t i = 0; k > 0 && i < y.size() / k; ++i) {
      const int64_t base = i / inner * length * inner + i % inner;
      const T* from = x.data<T>().data() + base;
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        return most ? from[a * inner] > from[b * inner]
                    : from[a * inner] < from[b * inner];
      });
      for (int64_t j = 0; j < k; ++j) {
        const int64_t index = order[static_cast<size_t>(j)];
        const auto at =
            static_cast<size_t>(i / inner * k * inner + j * inner + i % inner);
        y.data<T>()[at] = from[index * inner];
        found.data<int64_t>()[at] = index;
      }
    }
  });
  return {y, found};
}

}  // namespace octet::io::run
