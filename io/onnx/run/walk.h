// The elements of a result, row by row, beside tensors that lie under it with
// strides of their own: 0 where a dimension is broadcast.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <octet/runtime/parallel.h>

#include "node.h"

namespace octet::io::run {

class Walk {
 public:
  /// `strides[t]` has one entry for each of `dims`, in elements. Dimensions
  /// that all tensors run through alike become one.
  Walk(const Dims& dims, const std::vector<Dims>& strides);

  int64_t rows() const { return rows_; }
  /// Elements of a row.
  int64_t width() const { return dims_.back(); }
  /// Where a row of tensor t begins, in elements.
  int64_t offset(size_t t, int64_t row) const;
  /// From one element of a row to the next.
  int64_t step(size_t t) const { return strides_[t].back(); }

 private:
  Dims dims_;
  std::vector<Dims> strides_;
  int64_t rows_ = 1;
};

/// Of a contiguous tensor.
Dims strides_of(const Dims& dims);

/// Where element `index` of a tensor of `dims` lies under other strides.
int64_t offset_at(int64_t index, const Dims& dims, const Dims& strides);

/// The common shape under NumPy's rules. Throws: FormatError if there is none.
Dims broadcast_dims(const NodeContext& context,
                    const std::vector<Dims>& shapes);
/// The strides of a tensor of `own` dimensions under a shape that it
/// broadcasts to.
Dims broadcast_strides(const Dims& own, const Dims& dims);

/// A copy of elements of x: result element i of axis a is `strides[a] * i`
/// elements further in x, beginning at `base`.
/// REQUIRES: all of them lie in x.
Tensor strided_copy(const NodeContext& context, const Tensor& x,
                    const Dims& dims, const Dims& strides, int64_t base = 0);

/// The opset that NumPy's rules came with.
inline constexpr int64_t kNumpyBroadcast = 7;
/// The second of two operands. Before, it lay at the attribute `axis` of the
/// first.
Tensor second_operand(const NodeContext& context);

/// f(a, b) for each pair of elements, broadcast.
/// Throws: FormatError for shapes that do not fit.
template <class R, class A, class B, class F>
Tensor combine(const NodeContext& context, const Tensor& a, const Tensor& b,
               F f) {
  const Dims dims = broadcast_dims(context, {dims_of(a), dims_of(b)});
  Tensor y = context.make(dims, DTypeOf<R>::value);
  const Walk walk(dims, {broadcast_strides(dims_of(a), dims),
                         broadcast_strides(dims_of(b), dims)});
  R* out = y.data<R>().data();
  const int64_t step_a = walk.step(0), step_b = walk.step(1);
  parallel_chunks(y.size(), [&](int64_t first, int64_t last, int64_t) {
    for (int64_t at = first, end = 0; at < last; at = end) {
      const int64_t row = at / walk.width(), left = at % walk.width();
      end = std::min(at - left + walk.width(), last);
      const A* x = a.data<A>().data() + walk.offset(0, row) + left * step_a;
      const B* z = b.data<B>().data() + walk.offset(1, row) + left * step_b;
      for (int64_t i = 0; i < end - at; ++i) {
        out[at + i] = f(x[i * step_a], z[i * step_b]);
      }
    }
  });
  return y;
}

}  // namespace octet::io::run
