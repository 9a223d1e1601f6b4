// Elementwise operators.
#pragma once

#include <octet/runtime/parallel.h>

#include "node.h"

namespace octet::io::run {

/// Applies f to each element of x.
template <class R, class T, class F>
Tensor map(const NodeContext& context, const Tensor& x, F f) {
  Tensor y = context.make(sizes_of(x), DTypeOf<R>::value);
  const T* from = x.data<T>().data();
  R* to = y.data<R>().data();
  parallel_chunks(x.size(), [&](int64_t first, int64_t last, int64_t) {
    for (int64_t i = first; i < last; ++i) to[i] = f(from[i]);
  });
  return y;
}

/// The operator that applies f to each float32.
template <auto f>
Values of_floats(const NodeContext& context) {
  return {map<float, float>(context, context.input(0), f)};
}

/// Applies f to each element of the first input, which is float32.
template <class F>
Values map_floats(const NodeContext& context, F f) {
  return {map<float, float>(context, context.input(0), f)};
}

/// The operator that applies f to each number of any type.
template <auto f>
Values of_numbers(const NodeContext& context) {
  const Tensor& x = context.input(0);
  return {visit_number(context, x.dtype(),
                       [&]<class T>(T) { return map<T, T>(context, x, f); })};
}

}  // namespace octet::io::run
