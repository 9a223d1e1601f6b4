// Matrix products.
#include <algorithm>

#include <fmt/format.h>

#include <octet/runtime/parallel.h>

#include "deadline.h"
#include "numbers.h"
#include "onnx/graph/tensors.h"
#include "operators.h"
#include "product.h"
#include "strided_iterator.h"

namespace octet::io::run {
namespace {

// Maximum size of the part of a result that one add_product() computes.
constexpr int64_t kRows = 128, kColumns = 512;

// Sizes of a * b by NumPy's rules: a matrix product [m,k] * [k,n] for each
// index of the broadcast batch.
struct Product {
  Sizes batch;
  Sizes a_strides;  // of a over `batch`, in elements
  Sizes b_strides;
  int64_t m = 1, k = 1, n = 1;
  Sizes result;  // dimensions of a * b
};

Product product_of(const NodeContext& context, const Tensor& a,
                   const Tensor& b) {
  Sizes left = sizes_of(a), right = sizes_of(b);
  if (left.empty() || right.empty()) {
    context.refuse("inputs must be vectors or matrices, got a scalar");
  }
  const bool row = left.size() == 1, column = right.size() == 1;
  if (row) left.insert(left.begin(), 1);
  if (column) right.push_back(1);
  Product p;
  p.m = left[left.size() - 2];
  p.k = left.back();
  p.n = right.back();
  if (right[right.size() - 2] != p.k) {
    context.refuse(fmt::format("inner sizes differ: {} and {}",
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

// Computes a * b. R: float, or int32_t for integers up to 255 in magnitude.
template <class R>
Tensor products(const NodeContext& context, const Tensor& a, const Tensor& b) {
  const Product p = product_of(context, a, b);
  Tensor y = context.make(p.result, DTypeOf<R>::value);
  if (y.size() == 0) return y;
  const int64_t blocks = (p.m + kRows - 1) / kRows;
  const int64_t strips = (p.n + kColumns - 1) / kColumns;
  parallel_for(y.size() / (p.m * p.n) * blocks * strips, [&](int64_t task) {
    const int64_t left = task % strips * kColumns;
    const int64_t width = std::min(kColumns, p.n - left);
    const int64_t top = task / strips % blocks * kRows;
    const int64_t height = std::min(kRows, p.m - top);
    const int64_t i = task / strips / blocks;
    const float* from_a =
        a.f32().data() + offset_at(i, p.batch, p.a_strides) + top * p.k;
    const float* from_b =
        b.f32().data() + offset_at(i, p.batch, p.b_strides) + left;
    R* to = y.data<R>().data() + (i * p.m + top) * p.n + left;
    for (int64_t r = 0; r < height; ++r) std::fill_n(to + r * p.n, width, R{});
    add_product(context, height, p.k, width, {from_a, p.k}, {from_b, p.n}, to,
                p.n);
  });
  return y;
}

// Computes a * b for integers of any magnitude, modulo 2^32 or 2^64.
template <class T>
Tensor multiply_integers(const NodeContext& context, const Tensor& a,
                         const Tensor& b) {
  const Product p = product_of(context, a, b);
  Tensor y = context.make(p.result, DTypeOf<T>::value);
  DeadlineCheck pace(context);
  for (int64_t i = 0; i < y.size(); ++i) {
    const int64_t product = i / (p.m * p.n), row = i / p.n % p.m;
    const T* from_a = a.data<T>().data() +
                      offset_at(product, p.batch, p.a_strides) + row * p.k;
    const T* from_b =
        b.data<T>().data() + offset_at(product, p.batch, p.b_strides) + i % p.n;
    T sum{};
    pace.add(p.k);
    for (int64_t k = 0; k < p.k; ++k) {
      sum = plus(sum, times(from_a[k], from_b[k * p.n]));
    }
    y.data<T>()[static_cast<size_t>(i)] = sum;
  }
  return y;
}

Values matmul(const NodeContext& context) {
  const Tensor& a = context.input(0);
  const Tensor& b = context.input(1);
  if (a.dtype() == DType::f32) return {products<float>(context, a, b)};
  return {visit<int32_t, int64_t>(context, a.dtype(), [&]<class T>(T) {
    return multiply_integers<T>(context, a, b);
  })};
}

Values integer_matmul(const NodeContext& context) {
  return {products<int32_t>(context, context.input(0), context.input(1))};
}

}  // namespace

Operators matrix_operators() {
  static constexpr NamedOperator kOperators[] = {
      {"MatMul", matmul},
      {"octet.IntegerMatMul", integer_matmul},
  };
  return kOperators;
}

}  // namespace octet::io::run
