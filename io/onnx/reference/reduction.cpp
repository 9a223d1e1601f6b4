// Reductions along axes. Floats are added in double.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <type_traits>

#include <octet/runtime/parallel.h>

#include "numbers.h"
#include "operators.h"
#include "strided_iterator.h"

namespace octet::io::run {
namespace {

constexpr int64_t kEmptyExtremes = 20;  // first opset that defines them

// Accumulator type for T.
template <class T>
using SumOf = std::conditional_t<std::is_floating_point_v<T>, double, T>;

// The reduced and the remaining axes of a tensor.
struct Axes {
  Sizes kept, kept_strides;
  Sizes gone, gone_strides;
  Sizes result;
};

Axes axes_of(const NodeContext& context, const Tensor& x, const Sizes& listed,
             bool keep_dims) {
  const Sizes dims = sizes_of(x);
  const Sizes strides = strides_of(dims);
  std::vector<bool> goes(dims.size(), listed.empty());
  for (const int64_t axis : listed) {
    goes[static_cast<size_t>(context.axis(axis, x.shape().rank()))] = true;
  }
  Axes axes;
  for (size_t d = 0; d < dims.size(); ++d) {
    (goes[d] ? axes.gone : axes.kept).push_back(dims[d]);
    (goes[d] ? axes.gone_strides : axes.kept_strides).push_back(strides[d]);
    if (!goes[d]) {
      axes.result.push_back(dims[d]);
    } else if (keep_dims) {
      axes.result.push_back(1);
    }
  }
  return axes;
}

int64_t count_of(const Sizes& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1},
                         std::multiplies<>());
}

// start(first element), f(sum, x) over the reduced elements, finish(sum).
template <class T, class Start, class F, class Finish>
Tensor reduced(const NodeContext& context, const Axes& axes, Start start, F f,
               Finish finish) {
  const Tensor& x = context.input(0);
  Tensor y = context.make(axes.result, x.dtype());
  const StridedIterator walk(axes.gone, {axes.gone_strides});
  const T* from = x.data<T>().data();
  T* to = y.data<T>().data();
  parallel_chunks(y.size(), [&](int64_t first, int64_t last, int64_t) {
    for (int64_t i = first; i < last; ++i) {
      const T* base = from + offset_at(i, axes.kept, axes.kept_strides);
      auto sum = start(base);
      for (int64_t row = 0; row < walk.rows(); ++row) {
        const T* source = base + walk.offset(0, row);
        for (int64_t k = 0; k < walk.width(); ++k) {
          sum = f(sum, source[k * walk.step(0)]);
        }
      }
      to[i] = finish(sum);
    }
  });
  return y;
}

bool keeps_dims(const NodeContext& context) {
  return context.integer("keepdims", 1) != 0;
}

// The listed axes of input 0. Without a list, all axes, or none with
// noop_with_empty_axes.
Axes listed_axes(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const Sizes listed = context.axes();
  if (listed.empty() && context.integer("noop_with_empty_axes", 0) != 0) {
    const Sizes dims = sizes_of(x);
    return {.kept = dims,
            .kept_strides = strides_of(dims),
            .gone = {},
            .gone_strides = {},
            .result = dims};
  }
  return axes_of(context, x, listed, keeps_dims(context));
}

// finish(sum of f(x)) for float32, int32 and int64.
template <auto f, auto finish>
Values summed(const NodeContext& context) {
  const Axes axes = listed_axes(context);
  const DType type = context.input(0).dtype();
  return {visit<float, int32_t, int64_t>(context, type, [&]<class T>(T) {
    using Sum = SumOf<T>;
    return reduced<T>(
        context, axes, [](const T*) { return Sum{}; },
        [](Sum sum, T value) { return plus(sum, f(static_cast<Sum>(value))); },
        [](Sum sum) { return static_cast<T>(finish(sum)); });
  })};
}

// Also for integers, which are truncated toward zero.
template <auto f>
constexpr auto kInDouble =
    []<class T>(T x) { return static_cast<T>(f(static_cast<double>(x))); };

constexpr auto kItself = [](auto x) { return x; };
constexpr auto kAbsolute = []<class T>(T x) {
  return x < 0 ? minus(T{}, x) : x;
};
constexpr auto kSquare = [](auto x) { return times(x, x); };

template <class T>
constexpr T kLowest = std::is_floating_point_v<T>
                          ? -std::numeric_limits<T>::infinity()
                          : std::numeric_limits<T>::lowest();
template <class T>
constexpr T kHighest = std::is_floating_point_v<T>
                           ? std::numeric_limits<T>::infinity()
                           : std::numeric_limits<T>::max();

// f selects one of two; `of_none` is the result without elements.
template <auto f, auto of_none>
Values extreme(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const Axes axes = listed_axes(context);
  const bool none = count_of(axes.gone) == 0;
  if (none && context.opset() < kEmptyExtremes) {
    context.refuse("reduced axes must not be empty, got " +
                   x.shape().to_string());
  }
  return {visit_any(context, x.dtype(), [&]<class T>(T) {
    return reduced<T>(
        context, axes,
        [&](const T* first) { return none ? of_none(T{}) : *first; }, f,
        [](T best) { return best; });
  })};
}

Values reduce_prod(const NodeContext& context) {
  const DType type = context.input(0).dtype();
  const Axes axes = listed_axes(context);
  return {visit<float, int32_t, int64_t>(context, type, [&]<class T>(T) {
    using Sum = SumOf<T>;
    return reduced<T>(
        context, axes, [](const T*) { return Sum{1}; },
        [](Sum p, T x) { return times(p, static_cast<Sum>(x)); },
        [](Sum p) { return static_cast<T>(p); });
  })};
}

Values reduce_mean(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const Axes axes = listed_axes(context);
  const int64_t count = count_of(axes.gone);
  if (count == 0) {
    context.refuse("reduced axes must not be empty, got " +
                   x.shape().to_string());
  }
  return {visit<float, int32_t, int64_t>(context, x.dtype(), [&]<class T>(T) {
    using Sum = std::conditional_t<std::is_same_v<T, float>, double, int64_t>;
    return reduced<T>(
        context, axes, [](const T*) { return Sum{}; },
        [](Sum sum, T value) { return plus(sum, static_cast<Sum>(value)); },
        [=](Sum sum) { return static_cast<T>(sum / static_cast<Sum>(count)); });
  })};
}

// Index of the element that is `better` than all others; the first or the last
// of equal ones.
template <auto better>
Values arg_extreme(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const bool last_wins = context.integer("select_last_index", 0) != 0;
  const Axes axes =
      axes_of(context, x, {context.integer("axis", 0)}, keeps_dims(context));
  if (count_of(axes.gone) == 0) {
    context.refuse("axis must not be empty, got " + x.shape().to_string());
  }
  Tensor y = context.make(axes.result, DType::i64);
  visit_number(context, x.dtype(), [&]<class T>(T) {
    for (int64_t i = 0; i < y.size(); ++i) {
      const T* base =
          x.data<T>().data() + offset_at(i, axes.kept, axes.kept_strides);
      int64_t best = 0;
      for (int64_t k = 1; k < axes.gone[0]; ++k) {
        const T value = base[k * axes.gone_strides[0]];
        const T top = base[best * axes.gone_strides[0]];
        if (better(value, top) || (last_wins && value == top)) best = k;
      }
      y.data<int64_t>()[static_cast<size_t>(i)] = best;
    }
  });
  return {y};
}

// Cumulative sum along an axis, from either end, inclusive or exclusive.
Values cum_sum(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const Sizes listed = context.integers_of(1);
  if (listed.size() != 1) {
    context.refuse("axis must be a single number, got " +
                   context.input(1).shape().to_string());
  }
  const Axes axes = axes_of(context, x, listed, true);
  const bool exclusive = context.integer("exclusive", 0) != 0;
  const bool reverse = context.integer("reverse", 0) != 0;
  const int64_t length = axes.gone[0], stride = axes.gone_strides[0];
  Tensor y = context.make(sizes_of(x), x.dtype());
  visit<float, int32_t, int64_t>(context, x.dtype(), [&]<class T>(T) {
    for (int64_t i = 0; i < count_of(axes.kept); ++i) {
      const int64_t base = offset_at(i, axes.kept, axes.kept_strides);
      SumOf<T> sum{};
      for (int64_t k = 0; k < length; ++k) {
        const auto at =
            static_cast<size_t>(base + (reverse ? length - 1 - k : k) * stride);
        const auto value = static_cast<SumOf<T>>(x.data<T>()[at]);
        if (!exclusive) sum = plus(sum, value);
        y.data<T>()[at] = static_cast<T>(sum);
        if (exclusive) sum = plus(sum, value);
      }
    }
  });
  return {y};
}

}  // namespace

Operators reduction_operators() {
  constexpr auto kRoot = kInDouble<[](double x) { return std::sqrt(x); }>;
  constexpr auto kLog = kInDouble<[](double x) { return std::log(x); }>;
  static constexpr NamedOperator kOperators[] = {
      {"ReduceSum", summed<kItself, kItself>},
      {"ReduceL1", summed<kAbsolute, kItself>},
      {"ReduceL2", summed<kSquare, kRoot>},
      {"ReduceSumSquare", summed<kSquare, kItself>},
      {"ReduceLogSum", summed<kItself, kLog>},
      {"ReduceProd", reduce_prod},
      {"ReduceMean", reduce_mean},
      {"ReduceMax", extreme<[](auto a, auto b) { return larger(a, b); },
                            []<class T>(T) { return kLowest<T>; }>},
      {"ReduceMin", extreme<[](auto a, auto b) { return smaller(a, b); },
                            []<class T>(T) { return kHighest<T>; }>},
      {"ArgMax", arg_extreme<std::greater<>{}>},
      {"ArgMin", arg_extreme<std::less<>{}>},
      {"CumSum", cum_sum},
  };
  return kOperators;
}

}  // namespace octet::io::run
