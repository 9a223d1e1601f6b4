// Products of matrices.
#include <algorithm>

#include <fmt/format.h>

#include "../tensors.h"
#include "convolve.h"
#include "operators.h"
#include "walk.h"

namespace octet::io::run {

Tensor oriented(const NodeContext& context, const Tensor& x, bool transposed) {
  if (x.shape().rank() != 2) {
    context.refuse("expected matrices, got " + x.shape().to_string());
  }
  if (!transposed) return x;
  const int64_t rows = x.shape()[0], columns = x.shape()[1];
  return strided_copy(context, x, {columns, rows}, {1, columns});
}

Product product_of(const NodeContext& context, const Tensor& a,
                   const Tensor& b) {
  Dims left = dims_of(a), right = dims_of(b);
  if (left.empty() || right.empty()) {
    context.refuse("expected vectors or matrices, got a scalar");
  }
  const bool row = left.size() == 1, column = right.size() == 1;
  if (row) left.insert(left.begin(), 1);
  if (column) right.push_back(1);
  Product p;
  p.m = left[left.size() - 2];
  p.k = left.back();
  p.n = right.back();
  if (right[right.size() - 2] != p.k) {
    context.refuse(
        fmt::format("expected matrices that can be multiplied, got "
                    "{} and {}",
                    a.shape().to_string(), b.shape().to_string()));
  }
  left.resize(left.size() - 2);
  right.resize(right.size() - 2);
  p.batch = broadcast_dims(context, {left, right});
  p.a_strides = broadcast_strides(left, p.batch);
  for (int64_t& stride : p.a_strides) stride *= p.m * p.k;
  p.b_strides = broadcast_strides(right, p.batch);
  for (int64_t& stride : p.b_strides) stride *= p.k * p.n;
  p.result = p.batch;
  if (!row) p.result.push_back(p.m);
  if (!column) p.result.push_back(p.n);
  return p;
}

template <class T>
Tensor multiply(const NodeContext& context, const Product& p, const Tensor& a,
                const Tensor& b) {
  Tensor y = context.make(p.result, DTypeOf<T>::value);
  if (y.size() == 0) return y;
  for (int64_t i = 0; i < y.size() / (p.m * p.n); ++i) {
    multiply(context, p.m, p.k, p.n,
             a.data<T>().data() + offset_at(i, p.batch, p.a_strides),
             b.data<T>().data() + offset_at(i, p.batch, p.b_strides),
             y.data<T>().data() + i * p.m * p.n);
  }
  return y;
}

template Tensor multiply<float>(const NodeContext&, const Product&,
                                const Tensor&, const Tensor&);
template Tensor multiply<int32_t>(const NodeContext&, const Product&,
                                  const Tensor&, const Tensor&);
template Tensor multiply<int64_t>(const NodeContext&, const Product&,
                                  const Tensor&, const Tensor&);

Values matmul(const NodeContext& context) {
  const Tensor& a = context.input(0);
  const Tensor& b = context.input(1);
  const Product p = product_of(context, a, b);
  return {visit<float, int32_t, int64_t>(context, a.dtype(), [&]<class T>(T) {
    return multiply<T>(context, p, a, b);
  })};
}

Values gemm(const NodeContext& context) {
  const Tensor a =
      oriented(context, context.input(0), context.integer("transA", 0) != 0);
  const Tensor b =
      oriented(context, context.input(1), context.integer("transB", 0) != 0);
  Tensor y = multiply<float>(context, product_of(context, a, b), a, b);
  const float alpha = context.number("alpha", 1);
  for (float& value : y.f32()) value *= alpha;
  if (!context.has_input(2)) return {y};
  const float beta = context.number("beta", 1);
  Tensor sum = combine<float, float, float>(
      context, y, context.input(2), [beta](float product, float c) {
        return beta == 0 ? product : product + beta * c;
      });
  if (sum.shape() != y.shape()) {
    context.refuse(fmt::format("expected a term that broadcasts to {}, got {}",
                               y.shape().to_string(),
                               context.input(2).shape().to_string()));
  }
  return {sum};
}

}  // namespace octet::io::run
