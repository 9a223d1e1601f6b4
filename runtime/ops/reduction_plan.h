// Iteration of a reduction: the input as [outer][count][inner], of which
// `count` values are reduced.
#pragma once

#include <string_view>
#include <vector>

#include <octet/runtime/ops/reduction.h>

namespace octet {

class ReductionPlan {
 public:
  /// Throws: ShapeError with `op` as subject.
  ReductionPlan(std::string_view op, const Shape& x,
                const std::vector<int>& axes, Keepdims keepdims);
  /// Reduces all axes.
  ReductionPlan(std::string_view op, const Shape& x);

  /// Throws: ShapeError with `op` as subject if reductions are over no values.
  void expect_values(std::string_view op) const;

  /// Transposes `x` to the order of iteration; usually the identity.
  Tensor arrange(const Tensor& x) const;
  /// Inverse of arrange().
  Tensor restore(const Tensor& t) const;

  /// Whether images [n,h,w,c] or sequences [n,l,c] are reduced to [n,c].
  bool over_images() const { return images_; }

  Shape x;
  Shape result;
  int64_t outer = 1, count = 1, inner = 1;

 private:
  std::vector<int> order_;  // permutation of x's axes; empty: identity
  bool images_ = false;
};

/// total[k] = sum over rows of x[row*stride + k], for up to kSumColumns
/// columns: single precision in runs of 64 rows, double across them.
inline constexpr int64_t kSumColumns = 1024;
void sum_rows(double* total, const float* x, int64_t stride, int64_t rows,
              int64_t columns);

/// Sum over the pixels of images or sequences, divided by `divisor`. Evaluates
/// deferred expressions. `shape` is that of the result.
Variable image_sum(std::string_view op, const Variable& x, const Shape& shape,
                   double divisor);

}  // namespace octet
