// Iteration over the elements of a result, row by row, together with tensors of
// other strides: 0 for a broadcast dimension.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <octet/runtime/parallel.h>

#include "node.h"

namespace octet::io::run {

class StridedIterator {
 public:
  /// `strides[t]` has an entry for each of `dims`, in elements. Merges
  /// dimensions that are contiguous in all tensors.
  StridedIterator(const Sizes& dims, const std::vector<Sizes>& strides);

  int64_t rows() const { return rows_; }
  /// Elements of a row.
  int64_t width() const { return dims_.back(); }
  /// Offset of a row of tensor t, in elements.
  int64_t offset(size_t t, int64_t row) const;
  /// Distance between elements of a row.
  int64_t step(size_t t) const { return strides_[t].back(); }

 private:
  Sizes dims_;
  std::vector<Sizes> strides_;
  int64_t rows_ = 1;
};

/// Returns the strides of a contiguous tensor.
Sizes strides_of(const Sizes& dims);

/// Returns the offset of element `index` of a tensor of `dims` for other
/// strides.
int64_t offset_at(int64_t index, const Sizes& dims, const Sizes& strides);

/// Returns the common shape with NumPy's rules. Throws: FormatError if there is
/// none.
Sizes broadcast_dims(const NodeContext& context,
                     const std::vector<Sizes>& shapes);
/// Returns the strides of a tensor of `own` dimensions, broadcast to `dims`.
Sizes broadcast_strides(const Sizes& own, const Sizes& dims);

/// Copies elements of x to y, which may have other dimensions: index i of
/// result axis a is at offset `strides[a] * i` in x, beginning at `base`.
/// REQUIRES: all offsets are within x.
void copy_strided(const NodeContext& context, const Tensor& x,
                  const Sizes& dims, const Sizes& strides, int64_t base,
                  Tensor& y);
Tensor strided_copy(const NodeContext& context, const Tensor& x,
                    const Sizes& dims, const Sizes& strides, int64_t base = 0);

/// f(a, b) for each pair of elements, with broadcasting.
/// Throws: FormatError for shapes that do not fit.
template <class R, class A, class B, class F>
Tensor combine(const NodeContext& context, const Tensor& a, const Tensor& b,
               F f) {
  const Sizes dims = broadcast_dims(context, {sizes_of(a), sizes_of(b)});
  Tensor y = context.make(dims, DTypeOf<R>::value);
  const StridedIterator walk(dims, {broadcast_strides(sizes_of(a), dims),
                                    broadcast_strides(sizes_of(b), dims)});
  R* out = y.data<R>().data();
  const int64_t step_a = walk.step(0), step_b = walk.step(1);
  parallel_chunks(y.size(), [&](int64_t first, int64_t last, int64_t) {
    for (int64_t at = first, end = 0; at < last; at = end) {
      const int64_t row = at / walk.width(), left = at % walk.width();
      end = std::min(at - left + walk.width(), last);
      const A* x = a.data<A>().data() + walk.offset(0, row) + left * step_a;
      const B* z = b.data<B>().data() + walk.offset(1, row) + left * step_b;
      const auto run = [&](auto of_a, auto of_b) {
        for (int64_t i = 0; i < end - at; ++i) {
          out[at + i] = f(x[i * of_a], z[i * of_b]);
        }
      };
      // Constant steps let the compiler vectorize.
      using One = std::integral_constant<int64_t, 1>;
      using Zero = std::integral_constant<int64_t, 0>;
      if (step_a == 1 && step_b == 1) {
        run(One(), One());
      } else if (step_a == 1 && step_b == 0) {
        run(One(), Zero());
      } else {
        run(step_a, step_b);
      }
    }
  });
  return y;
}

}  // namespace octet::io::run
