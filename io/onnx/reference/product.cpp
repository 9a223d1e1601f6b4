// The only use of Eigen in this module.
#include "product.h"

#include <Eigen/Core>
#include <algorithm>

#include "numbers.h"

namespace octet::io::run {
namespace {

using Matrix = Eigen::Matrix<float, -1, -1, Eigen::RowMajor>;
using Stride = Eigen::OuterStride<>;
using Given = Eigen::Map<const Matrix, 0, Stride>;

// Number of products of 255 * 255 whose sum float32 represents exactly: < 2^24.
constexpr int64_t kDepth = 256;

// Calls add(block of a, block of b) for blocks of the sums.
template <class Add>
void in_parts(const NodeContext& context, int64_t m, int64_t k, int64_t n,
              RowMajorView a, RowMajorView b, const Add& add) {
  for (int64_t first = 0; first < k; first += kDepth) {
    context.check_time();
    const int64_t depth = std::min(kDepth, k - first);
    add(Given(a.data + first, m, depth, Stride(a.stride)),
        Given(b.data + first * b.stride, depth, n, Stride(b.stride)));
  }
}

}  // namespace

void add_product(const NodeContext& context, int64_t m, int64_t k, int64_t n,
                 RowMajorView a, RowMajorView b, float* y, int64_t stride) {
  Eigen::Map<Matrix, 0, Stride> sums(y, m, n, Stride(stride));
  in_parts(context, m, k, n, a, b, [&](const Given& left, const Given& right) {
    sums.noalias() += left * right;
  });
}

void add_product(const NodeContext& context, int64_t m, int64_t k, int64_t n,
                 RowMajorView a, RowMajorView b, int32_t* y, int64_t stride) {
  Matrix part(m, n);
  in_parts(context, m, k, n, a, b, [&](const Given& left, const Given& right) {
    part.noalias() = left * right;
    for (int64_t r = 0; r < m; ++r) {
      for (int64_t c = 0; c < n; ++c) {
        int32_t& sum = y[r * stride + c];
        sum = plus(sum, static_cast<int32_t>(part(r, c)));
      }
    }
  });
}

}  // namespace octet::io::run
