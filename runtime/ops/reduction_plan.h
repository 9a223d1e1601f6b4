// How a reduction walks its input: as [outer][count][inner], where `count`
// values become one.
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
  /// Over all axes.
  ReductionPlan(std::string_view op, const Shape& x);

  /// Throws: ShapeError with `op` as subject if one result has no values.
  void expect_values(std::string_view op) const;

  /// `x` in the order that is walked, which mostly is its own.
  Tensor arrange(const Tensor& x) const;
  /// A tensor in that order as x has it.
  Tensor restore(const Tensor& t) const;

  /// Whether the plan is to reduce images [n,h,w,c], or sequences [n,l,c], to
  /// [n,c].
  bool over_images() const { return images_; }

  Shape x;
  Shape result;
  int64_t outer = 1, count = 1, inner = 1;

 private:
  std::vector<int> order_;  // of x's axes; empty: as they are
  bool images_ = false;
};

/// total[k] = sum over rows of x[row*stride + k], for up to kSumColumns
/// columns: single precision in runs of 64 rows, double across them.
inline constexpr int64_t kSumColumns = 1024;
void sum_rows(double* total, const float* x, int64_t stride, int64_t rows,
              int64_t columns);

/// The sum over the pixels of images or sequences, divided by `divisor`; reads
/// deferred expressions. `shape` is the result's.
Variable image_sum(std::string_view op, const Variable& x, const Shape& shape,
                   double divisor);

}  // namespace octet
