// Differentiable operations on Variables. Images are NHWC, convolution
// kernels [kh, kw, c, k], dense kernels [c, units].
#pragma once

#include <cstdint>
#include <span>

#include <octet/runtime/grid.h>
#include <octet/runtime/variable.h>

namespace octet {

/// Cells added around an image.
struct Pads {
  int64_t top = 0;
  int64_t bottom = 0;
  int64_t left = 0;
  int64_t right = 0;
  bool operator==(const Pads&) const = default;
};

struct WindowOptions {
  Size2 strides{1, 1};
  Size2 dilation{1, 1};
  Pads pads{};
};

/// Number of window positions along one axis; 0 if the window does not fit.
/// Throws: ValueError for a stride < 1.
int64_t window_positions(int64_t size, int64_t window, int64_t stride,
                         int64_t dilation, int64_t pads);

/// 2-D cross-correlation, zero padded.
/// Shapes: x [n,h,w,c], kernel [kh,kw,c,k] -> [n,oh,ow,k].
/// Where x and the kernel both lie on an integer grid, the codes themselves
/// are multiplied, exactly, while 128 * sum|q_w| <= 2^24.
/// Throws: ShapeError.
Variable conv2d(const Variable& x, const Variable& kernel,
                const WindowOptions& options = {});

/// Matrix product over the last axis.
/// Shapes: x [...,c], kernel [c,units] -> [...,units]. Throws: ShapeError.
Variable dense(const Variable& x, const Variable& kernel);

/// x + bias over the last axis. Shapes: x [...,c], bias [c].
Variable bias_add(const Variable& x, const Variable& bias);

/// x + y, same shape. Throws: ShapeError.
Variable add(const Variable& x, const Variable& y);

/// max(x, 0), and at most `max_value`. The gradient at both ends is 0.
Variable relu(const Variable& x);
Variable relu(const Variable& x, float max_value);

/// gamma * (x - mean) / sqrt(variance + epsilon) + beta over the last axis,
/// with given statistics. gamma and beta may be empty (1 and 0).
/// Shapes: x [...,c], all others [c].
Variable batch_norm(const Variable& x, const Variable& gamma,
                    const Variable& beta, const Tensor& mean,
                    const Tensor& variance, float epsilon);

/// The same with the statistics of the batch (biased variance), which also
/// move the stored ones: stored = momentum * stored + (1 - momentum) * batch.
/// Source: Keras BatchNormalization, training=True.
Variable batch_norm_training(const Variable& x, const Variable& gamma,
                             const Variable& beta, Tensor& moving_mean,
                             Tensor& moving_variance, float momentum,
                             float epsilon);

/// Largest value of each window; padding counts as -infinity and the first
/// of equal values gets the gradient. Shapes: [n,h,w,c] -> [n,oh,ow,c].
/// Throws: ShapeError; ValueError where a window holds padding only;
/// UnsupportedError for a window of more than kMaxPoolCells cells.
inline constexpr int64_t kMaxPoolCells = 256;
Variable max_pool2d(const Variable& x, Size2 window,
                    const WindowOptions& options);

/// One dimension may be Shape::kAnySize. Throws: ShapeError.
Variable reshape(const Variable& x, const Shape& shape);

/// exp(x) / sum exp(x) over the last axis.
Variable softmax(const Variable& x);

/// Mean over the batch of -log softmax(logits)[label].
/// Shapes: logits [n,classes] (f32), labels [n] (i64) -> [].
/// Throws: ShapeError; ValueError for a label outside [0, classes).
Variable softmax_cross_entropy(const Variable& logits, const Tensor& labels);

/// What the gradient of fake_quantize passes through.
enum class StraightThrough {
  clipped,       ///< only where the rounded code lies in [low, high]
  pass_through,  ///< everywhere
};

/// x rounded to the grid (see grid.h): forward scale * code, backward the
/// straight-through estimator. The scale gets no gradient.
/// Throws: ShapeError if a per-channel scale does not fit; ValueError if the
/// grid is empty or a scale is not finite and positive.
Variable fake_quantize(const Variable& x, const Grid& grid,
                       StraightThrough mode = StraightThrough::clipped);

}  // namespace octet
