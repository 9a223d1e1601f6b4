// Gather, scatter and related operators with indices.
#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "numbers.h"
#include "onnx/graph/tensors.h"
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
  Tensor y = context.make(sizes_of(x), DType::i64);
  std::ranges::copy(x.data<int32_t>(), y.data<int64_t>().begin());
  return y;
}

// Contiguous slices of a tensor that indices select.
struct Selection {
  int64_t count = 0;
  int64_t slice = 1;  // elements of each
  // Returns the offset of slice i. Throws: FormatError for a wrong index.
  std::function<int64_t(int64_t i)> offset;
  Sizes dims;  // of the selected elements
};

// An index for a slice of an axis.
Selection along_axis(const NodeContext& context, const Tensor& x) {
  const int axis = context.axis(context.integer("axis", 0), x.shape().rank());
  const Tensor indices = indices_of(context, 1);
  const int64_t size = x.shape()[axis], count = indices.size();
  const int64_t inner = x.shape().slice(axis + 1, x.shape().rank()).size();
  Sizes dims = sizes_of(x);
  const Sizes chosen = sizes_of(indices);
  dims.erase(dims.begin() + axis);
  dims.insert(dims.begin() + axis, chosen.begin(), chosen.end());
  return {x.shape().slice(0, axis).size() * count, inner,
          [=, &context](int64_t i) {
            const int64_t index =
                indices.data<int64_t>()[static_cast<size_t>(i % count)];
            return (i / count * size + index_within(context, index, size)) *
                   inner;
          },
          std::move(dims)};
}

// An index along an axis for each element.
Selection by_elements(const NodeContext& context, const Tensor& x) {
  const int axis = context.axis(context.integer("axis", 0), x.shape().rank());
  const Tensor indices = indices_of(context, 1);
  const Sizes dims = sizes_of(indices), own = sizes_of(x);
  bool fits = dims.size() == own.size();
  for (size_t d = 0; fits && d < dims.size(); ++d) {
    fits = static_cast<int>(d) == axis || dims[d] <= own[d];
  }
  if (!fits) {
    context.refuse(fmt::format("indices {} do not fit {}", dims_text(dims),
                               x.shape().to_string()));
  }
  Sizes strides = strides_of(own);
  const int64_t stride =
      std::exchange(strides[static_cast<size_t>(axis)], int64_t{0});
  const int64_t size = x.shape()[axis];
  return {indices.size(), 1,
          [=, &context](int64_t i) {
            const int64_t index =
                indices.data<int64_t>()[static_cast<size_t>(i)];
            return offset_at(i, dims, strides) +
                   index_within(context, index, size) * stride;
          },
          dims};
}

// Tuples of indices for the axes of x from `batch` on.
Selection by_tuples(const NodeContext& context, const Tensor& x,
                    int64_t batch) {
  const Tensor indices = indices_of(context, 1);
  const Sizes own = sizes_of(x);
  Sizes dims = sizes_of(indices);
  const auto rank = std::ssize(own), index_rank = std::ssize(dims);
  const int64_t length = dims.empty() ? 0 : dims.back();
  if (batch < 0 || batch >= std::min(rank, index_rank) ||
      batch + length > rank ||
      !std::equal(own.begin(), own.begin() + batch, dims.begin())) {
    context.refuse(fmt::format(
        "indices {} must be tuples of up to {} indices for {}, with {} equal "
        "axes",
        dims_text(dims), rank - batch, x.shape().to_string(), batch));
  }
  const auto end = static_cast<int>(batch + length);
  const int64_t count =
      indices.shape().slice(0, static_cast<int>(index_rank) - 1).size();
  const int64_t batches = x.shape().slice(0, static_cast<int>(batch)).size();
  const int64_t each =
      std::max<int64_t>(count / std::max<int64_t>(batches, 1), 1);
  const int64_t apart = x.size() / std::max<int64_t>(batches, 1);
  const Sizes strides = strides_of(own);
  dims.pop_back();
  dims.insert(dims.end(), own.begin() + end, own.end());
  return {count, x.shape().slice(end, x.shape().rank()).size(),
          [=, &context](int64_t i) {
            const int64_t* tuple = indices.data<int64_t>().data() + i * length;
            int64_t offset = i / each * apart;
            for (int64_t k = 0; k < length; ++k) {
              const auto axis = static_cast<size_t>(batch + k);
              offset +=
                  strides[axis] * index_within(context, tuple[k], own[axis]);
            }
            return offset;
          },
          std::move(dims)};
}

Values gathered(const NodeContext& context, const Selection& selection) {
  const Tensor& x = context.input(0);
  Tensor y = context.make(selection.dims, x.dtype());
  const int64_t element = size_of(x.dtype());
  const int64_t bytes = selection.slice * element;
  for (int64_t i = 0; i < selection.count; ++i) {
    const int64_t from = selection.offset(i) * element;
    if (bytes == 0) continue;
    std::memcpy(static_cast<char*>(y.raw()) + i * bytes,
                static_cast<const char*>(x.raw()) + from,
                static_cast<size_t>(bytes));
  }
  return {y};
}

template <class T>
T merged(const std::string& reduction, T before, T update) {
  if constexpr (!std::is_same_v<T, bool>) {
    if (reduction == "add") return plus(before, update);
    if (reduction == "mul") return times(before, update);
    if (reduction == "max") return larger(before, update);
    if (reduction == "min") return smaller(before, update);
  }
  return update;
}

Values scattered(const NodeContext& context, const Selection& selection) {
  const Tensor& x = context.input(0);
  const Tensor& updates = context.input(2);
  const std::string reduction = context.text("reduction", "none");
  constexpr const char* kReductions[] = {"none", "add", "mul", "max", "min"};
  if (std::ranges::find(kReductions, reduction) == std::end(kReductions)) {
    context.refuse("reduction must be none, add, mul, max or min, got '" +
                   printable(reduction) + "'");
  }
  if (sizes_of(updates) != selection.dims) {
    context.refuse(fmt::format("updates must have shape {}, got {}",
                               dims_text(selection.dims),
                               updates.shape().to_string()));
  }
  Tensor y = context.make(sizes_of(x), x.dtype());
  visit_any(context, x.dtype(), [&]<class T>(T) {
    std::ranges::copy(x.data<T>(), y.data<T>().begin());
    const T* from = updates.data<T>().data();
    for (int64_t i = 0; i < selection.count; ++i) {
      T* to = y.data<T>().data() + selection.offset(i);
      for (int64_t k = 0; k < selection.slice; ++k, ++from, ++to) {
        *to = merged(reduction, *to, *from);
      }
    }
  });
  return {y};
}

Values gather(const NodeContext& context) {
  return gathered(context, along_axis(context, context.input(0)));
}
Values gather_elements(const NodeContext& context) {
  return gathered(context, by_elements(context, context.input(0)));
}
Values gather_nd(const NodeContext& context) {
  return gathered(context, by_tuples(context, context.input(0),
                                     context.integer("batch_dims", 0)));
}
Values scatter_elements(const NodeContext& context) {
  return scattered(context, by_elements(context, context.input(0)));
}
Values scatter_nd(const NodeContext& context) {
  return scattered(context, by_tuples(context, context.input(0), 0));
}

// Indices [rank, count] of nonzero elements in the order of the elements.
Values non_zero(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const auto rank = static_cast<int64_t>(x.shape().rank());
  return {visit_any(context, x.dtype(), [&]<class T>(T) {
    const auto values = x.data<T>();
    const auto count = x.size() - std::ranges::count(values, T{});
    Tensor y = context.make({rank, count}, DType::i64);
    const Sizes dims = sizes_of(x), strides = strides_of(dims);
    int64_t* to = y.data<int64_t>().data();
    for (int64_t i = 0; i < x.size(); ++i) {
      if (values[static_cast<size_t>(i)] == T{}) continue;
      for (size_t d = 0; d < dims.size(); ++d) {
        to[static_cast<int64_t>(d) * count] = i / strides[d] % dims[d];
      }
      ++to;
    }
    return y;
  })};
}

// The k largest or smallest numbers along an axis and their indices; the first
// of equal ones comes first.
Values top_k(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const int axis = context.axis(context.integer("axis", -1), x.shape().rank());
  const int64_t length = x.shape()[axis];
  const int64_t k = context.opset() < kTopKInput ? context.integer("k", -1)
                                                 : scalar<int64_t>(context, 1);
  if (k < 0 || k > length) {
    context.refuse(fmt::format("k must be from 0 to {}, got {}", length, k));
  }
  const bool most = context.integer("largest", 1) != 0;
  Sizes dims = sizes_of(x);
  dims[static_cast<size_t>(axis)] = k;
  Tensor y = context.make(dims, x.dtype());
  Tensor found = context.make(dims, DType::i64);
  const int64_t inner = x.shape().slice(axis + 1, x.shape().rank()).size();
  visit_number(context, x.dtype(), [&]<class T>(T) {
    Sizes order(static_cast<size_t>(length));
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

}  // namespace

Operators indexing_operators() {
  static constexpr NamedOperator kOperators[] = {
      {"Gather", gather},
      {"GatherElements", gather_elements},
      {"GatherND", gather_nd},
      {"NonZero", non_zero},
      {"Scatter", scatter_elements},
      {"ScatterElements", scatter_elements},
      {"ScatterND", scatter_nd},
      {"TopK", top_k},
  };
  return kOperators;
}

}  // namespace octet::io::run
