// Deferred pointwise expressions: y = Q(clip(first + second)), where
//   first  = a1*t1 + b1
//   second = Q2(clip2(a2*t2 + b2)), or absent.
//
// Two storage rules replace liveness analysis: a one-term expression is never
// stored, since evaluating it costs the traffic of reading it; a two-term
// expression is materialized: written to a buffer, before Q, by whoever
// evaluates it first.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include <octet/runtime/grid.h>
#include <octet/runtime/ops/window.h>
#include <octet/runtime/tensor.h>

#include "../kernels/kernels.h"
#include "kept.h"

namespace octet::autograd {

struct Node;

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Term {
  Kept t;
  Tensor a;  // [c]; empty: 1
  Tensor b;  // [c]; empty: 0
  // [groups][2][c]: sums of t and t*t, if the op that computed t took them.
  Tensor statistics;
  bool nonnegative = false;  // t is, as it was kept
  // Of a second term only:
  float low = -kInfinity;
  float high = kInfinity;
  Grid grid;
  // Receives d/d(a*t + b). Owned by the node that holds the expression, or
  // null where nothing is recorded.
  Node* target = nullptr;

  bool scaled() const { return !a.empty() || !b.empty(); }
};

/// Who receives the gradient of a grid's scale, and how it is made (see
/// LearnedScale); null where the scale does not learn.
struct ScaleTarget {
  Node* node = nullptr;
  float factor = 1;
  bool log2 = false;
  float between = 1;  // factor of what lies between the ends of the grid
};

struct Expression {
  Shape shape;
  Term first;
  std::optional<Term> second;
  float low = -kInfinity;
  float high = kInfinity;
  Grid grid;                       // per tensor
  bool on_grid = false;            // first.t is: Q leaves it as it is
  bool clipped_gradient = true;    // of Q: the clipped straight-through rule
  ScaleTarget scale;               // of the grid
  std::shared_ptr<Tensor> buffer;  // of a two-term expression

  bool clipped() const { return low > -kInfinity || high < kInfinity; }
  bool affine() const { return !second && !clipped() && grid.empty(); }
  bool plain() const { return affine() && !first.scaled(); }
  bool materialized() const { return buffer != nullptr && !buffer->empty(); }
  /// Values before clip and Q through which gradients pass: ReLU, ReLU6 and
  /// the clipped straight-through rule together are one interval.
  OpenInterval pass() const;
};

Expression expression_of(const Tensor& t, Node* target);

/// A tensor seen as images: rank 4 is [n][h][w][c], any other rank
/// [n][1][pixels][c], rank 1 one image of one pixel.
struct ImageShape {
  int64_t n = 1, h = 1, w = 1, c = 1;
  int64_t size() const { return h * w * c; }
  explicit ImageShape(const Shape& shape);
};

/// What a reader delivers of an expression that ends on a grid.
enum class Form {
  real,   ///< scale * code
  codes,  ///< the integers themselves, as floats
};

/// Evaluates an expression image by image; the only evaluator there is.
/// read() may be called from several threads, for different images.
class Reader {
 public:
  Reader(const Expression& expression, Form form);

  const ImageShape& images() const { return images_; }
  /// Writes [top+h+bottom][left+w+right][c], zeros around.
  void read(int64_t image, const Pads& padding, float* out) const {
    read({image, 0, images_.h}, padding, out);
  }
  /// Rows [first, last) of an image, padded.
  struct Rows {
    int64_t image, first, last;
  };
  void read(const Rows& rows, const Pads& padding, float* out) const;
  /// The same in words of codes, of an expression that ends on a grid of at
  /// most 8 bits: as code_table_of() or Table::codes has them. False if there
  /// was a NaN, or somebody wrote a negative number to a tensor that had none.
  bool read_codes(const Rows& rows, const Pads& padding,
                  const kernels::CodeTable& table,
                  kernels::CodeWord* out) const;
  /// Pixels [first, last) of the tensor, seen as [pixels][c].
  void read_pixels(int64_t first, int64_t last, float* out) const;
  /// The same as words.
  bool pixel_codes(int64_t first, int64_t last, const kernels::CodeTable& table,
                   kernels::CodeWord* out) const;
  /// The same pixels where they are: in the tensor's own memory where it needs
  /// no evaluation, else arena::scratch(slot).
  const float* pixels(int64_t first, int64_t last, int slot) const;
  /// The same of a whole image.
  const float* image(int64_t i, int slot) const {
    const int64_t size = images_.h * images_.w;
    return pixels(i * size, (i + 1) * size, slot);
  }
  /// After all images have been read: stores the buffer, if this was the first
  /// evaluation of a two-term expression.
  void commit();

 private:
  kernels::Evaluation from(int64_t offset) const;
  kernels::Evaluation padded(const Rows& rows, const Pads& padding) const;
  kernels::Evaluation run(int64_t first, int64_t last) const;

  Expression expression_;
  ImageShape images_;
  kernels::Evaluation call_;
  Tensor ones_;
  Tensor zeros_;
  Tensor buffer_;
};

/// Whether its bounds, its grid or the tensor that it is of say that no value
/// is negative; NaN may be among them.
bool nonnegative(const Expression& e);

/// What multiplies its codes fastest, where it ends on a grid that fits in
/// bytes.
const kernels::CodeTable& code_table_of(const Expression& e);

/// The whole expression as a new tensor; materializes a two-term one.
Tensor evaluate(const Expression& expression);
/// The tensor of an expression that is no more than that, else evaluate().
Tensor value_of(const Expression& expression);
/// Writes the buffer of a two-term expression, if nobody has.
void materialize(const Expression& expression);

}  // namespace octet::autograd
