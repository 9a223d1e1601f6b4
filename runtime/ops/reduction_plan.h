// Iteration of a reduction: the input as [outer][count][inner], of which
// `count` values are reduced.
#pragma once

#include <string_view>
#include <vector>

#include <octet/runtime/ops/arithmetic.h>

#include "inference/trace.h"

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

  /// The same reduction of n samples. REQUIRES: keeps_samples().
  ReductionPlan for_samples(int64_t n) const;
  /// Whether axis 0 is preserved.
  bool keeps_samples() const { return keeps_samples_; }

  Shape x;
  Shape result;
  int64_t outer = 1, count = 1, inner = 1;

 private:
  std::vector<int> order_;  // permutation of x's axes; empty: identity
  bool images_ = false;
  bool keeps_samples_ = false;
};

/// Offers a reduction to the active trace. `reduce` fills y with the results of
/// an arranged tensor. Returns an empty Variable if it must be computed.
template <class Reduce>
Variable offer_reduction(std::string_view op, const Variable& x,
                         const ReductionPlan& plan, Reduce reduce) {
  return inference::offer([&] {
    return inference::TracedOp{
        .op = op,
        .inputs = {x},
        .shape = plan.result,
        .forward =
            [plan, reduce](std::span<const Tensor> in, Tensor& y) {
              const ReductionPlan all = plan.for_samples(in[0].shape()[0]);
              reduce(all.arrange(in[0]), all, y);
            },
        .across_samples = !plan.keeps_samples()};
  });
}

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
