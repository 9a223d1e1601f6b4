// Deferred pointwise expressions: y = Q(clip(first + second)), where
//   first  = a1*t1 + b1
//   second = Q2(clip2(a2*t2 + b2)), or absent.
//
// Two storage rules replace liveness analysis: a one-term expression is never
// stored, since evaluating it costs no more memory traffic than reading it; a
// two-term expression is materialized by its first evaluation, which writes the
// value before Q to a buffer.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include <octet/runtime/ops/nn.h>
#include <octet/runtime/quantization.h>
#include <octet/runtime/tensor.h>

#include "kernels/kernels.h"
#include "saved_tensor.h"

namespace octet::autograd {

struct Node;

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Term {
  SavedTensor t;
  uint64_t source = 0;  // Variable::id() of t in a trace; 0: unknown
  Tensor a;             // [c]; empty: 1
  Tensor b;             // [c]; empty: 0
  // [groups][2][c]: sums of t and t*t, if computed by the op that produced t.
  Tensor statistics;
  bool nonnegative = false;  // whether t was nonnegative when saved
  // Second term only:
  float low = -kInfinity;
  float high = kInfinity;
  QuantParams qparams;
  // Receives d/d(a*t + b). Owned by the node of the expression; null if nothing
  // is recorded.
  Node* target = nullptr;

  bool scaled() const { return !a.empty() || !b.empty(); }
};

/// Receiver of the gradient of a scale, and its formula (see LearnedScale);
/// null if the scale is not trainable.
struct ScaleTarget {
  Node* node = nullptr;
  float factor = 1;
  bool log2 = false;
  float between = 1;  // factor of values strictly inside the range
};

struct Expression {
  Shape shape;
  Term first;
  std::optional<Term> second;
  float low = -kInfinity;
  float high = kInfinity;
  QuantParams qparams;             // per tensor
  bool already_quantized = false;  // first.t is already quantized
  bool clipped_gradient = true;    // StraightThrough::clipped for Q
  ScaleTarget scale;               // of Q
  std::shared_ptr<Tensor> buffer;  // of a two-term expression

  bool clipped() const { return low > -kInfinity || high < kInfinity; }
  bool affine() const { return !second && !clipped() && qparams.empty(); }
  bool plain() const { return affine() && !first.scaled(); }
  bool materialized() const { return buffer != nullptr && !buffer->empty(); }
  /// Interval of values before clip and Q through which gradients pass: ReLU,
  /// ReLU6 and the clipped straight-through estimator combined.
  OpenInterval pass() const;
};

Expression expression_of(const Tensor& t, Node* target);

/// A tensor viewed as images: rank 4 is [n][h][w][c], rank 1 a single pixel,
/// any other rank [n][1][pixels][c].
struct ImageShape {
  int64_t n = 1, h = 1, w = 1, c = 1;
  int64_t size() const { return h * w * c; }
  explicit ImageShape(const Shape& shape);
};

/// Output of a ExpressionEvaluator for a quantized expression.
enum class OutputKind {
  real,   ///< scale * q
  codes,  ///< quantized values q, as floats
};

/// Evaluates an expression image by image; the only evaluator. Several threads
/// may call read() for different images.
class ExpressionEvaluator {
 public:
  ExpressionEvaluator(const Expression& expression, OutputKind form);

  const ImageShape& images() const { return images_; }
  /// Writes [top+h+bottom][left+w+right][c] with zero padding.
  void read(int64_t image, const Pads& padding, float* out) const {
    read({image, 0, images_.h}, padding, out);
  }
  /// Rows [first, last) of an image, padded.
  struct ImageRows {
    int64_t image, first, last;
  };
  void read(const ImageRows& rows, const Pads& padding, float* out) const;
  /// Writes packed quantized values of an expression of at most 8 bits, in the
  /// layout of code_table_of() or Table::codes. Returns false for NaN, or for
  /// negative values in a tensor marked as nonnegative.
  bool read_codes(const ImageRows& rows, const Pads& padding,
                  const kernels::CodeTable& table,
                  kernels::CodeWord* out) const;
  /// Writes pixels [first, last) of the tensor, viewed as [pixels][c].
  void read_pixels(int64_t first, int64_t last, float* out) const;
  /// read_pixels() with packed quantized values.
  bool pixel_codes(int64_t first, int64_t last, const kernels::CodeTable& table,
                   kernels::CodeWord* out) const;
  /// Returns pixels [first, last): in the tensor's memory if no evaluation is
  /// needed, else in arena::scratch(slot).
  const float* pixels(int64_t first, int64_t last, int slot) const;
  /// Returns an image; see pixels().
  const float* image(int64_t i, int slot) const {
    const int64_t size = images_.h * images_.w;
    return pixels(i * size, (i + 1) * size, slot);
  }
  /// Call after reading all images: stores the buffer if this was the first
  /// evaluation of a two-term expression.
  void commit();

 private:
  kernels::Evaluation from(int64_t offset) const;
  kernels::Evaluation padded(const ImageRows& rows, const Pads& padding) const;
  kernels::Evaluation run(int64_t first, int64_t last) const;

  Expression expression_;
  ImageShape images_;
  kernels::Evaluation call_;
  Tensor ones_;
  Tensor zeros_;
  Tensor buffer_;
};

/// Whether clip bounds, quantization range or tensor guarantee values without
/// negatives; NaN is possible.
bool nonnegative(const Expression& e);

/// The fastest INT8 kernels for an expression quantized to at most 8 bits.
const kernels::CodeTable& code_table_of(const Expression& e);

/// Evaluates into a new tensor; materializes two-term expressions.
Tensor evaluate(const Expression& expression);
/// The tensor of a plain expression, else evaluate().
Tensor value_of(const Expression& expression);
/// Writes the buffer of a two-term expression unless already done.
void materialize(const Expression& expression);

}  // namespace octet::autograd
