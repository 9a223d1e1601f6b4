#include <cmath>

#include "reference.h"

namespace octet::reference {

namespace {

// Offset of matrix `index` of `batch` in an array with a broadcast batch.
int64_t matrix_at(const Shape& own, const Shape& batch, int64_t index) {
  int64_t at = 0;
  int64_t stride = own[-1] * own[-2];
  for (int axis = batch.rank() - 1; axis >= 0; --axis) {
    const int mine = axis - batch.rank() + own.rank() - 2;
    const int64_t i = index % batch[axis];
    index /= batch[axis];
    if (mine < 0) continue;
    at += own[mine] == 1 ? 0 : i * stride;
    stride *= own[mine];
  }
  return at;
}

}  // namespace

Array matmul(const Array& a, const Array& b, const MatmulOptions& o) {
  const int64_t m = a.shape[o.transpose_a ? -1 : -2];
  const int64_t depth = a.shape[o.transpose_a ? -2 : -1];
  const int64_t n = b.shape[o.transpose_b ? -2 : -1];
  const Shape& wide = a.shape.rank() >= b.shape.rank() ? a.shape : b.shape;
  const Shape& other = a.shape.rank() >= b.shape.rank() ? b.shape : a.shape;
  Shape shape = wide.with(-2, m).with(-1, n);
  for (int axis = 3; axis <= other.rank(); ++axis) {
    if (shape[-axis] == 1) shape = shape.with(-axis, other[-axis]);
  }
  const Shape batch = shape.slice(0, shape.rank() - 2);
  Array y(shape);
  for (int64_t t = 0; t < batch.size(); ++t) {
    const int64_t at_a = matrix_at(a.shape, batch, t);
    const int64_t at_b = matrix_at(b.shape, batch, t);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t k = 0; k < depth; ++k) {
          y[(t * m + i) * n + j] +=
              a[at_a + (o.transpose_a ? k * m + i : i * depth + k)] *
              b[at_b + (o.transpose_b ? j * depth + k : k * n + j)];
        }
  }
  return y;
}

Array softmax_along(const Array& x, int axis) {
  const int64_t length = x.shape[axis];
  const int64_t step = x.shape.slice(axis + 1, x.shape.rank()).size();
  Array y = x;
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t start = i - i / step % length * step;
    double sum = 0;
    for (int64_t k = 0; k < length; ++k) sum += std::exp(x[start + k * step]);
    y[i] = std::exp(x[i]) / sum;
  }
  return y;
}

Array layer_norm(const Array& x, const Array& gamma, const Array& beta,
                 double epsilon) {
  const int64_t c = x.shape[-1];
  Array y = x;
  for (int64_t row = 0; row < x.size(); row += c) {
    double mean = 0;
    double variance = 0;
    for (int64_t i = 0; i < c; ++i) mean += x[row + i] / static_cast<double>(c);
    for (int64_t i = 0; i < c; ++i) {
      variance +=
          (x[row + i] - mean) * (x[row + i] - mean) / static_cast<double>(c);
    }
    for (int64_t i = 0; i < c; ++i) {
      y[row + i] =
          gamma[i] * (x[row + i] - mean) / std::sqrt(variance + epsilon) +
          beta[i];
    }
  }
  return y;
}

}  // namespace octet::reference
