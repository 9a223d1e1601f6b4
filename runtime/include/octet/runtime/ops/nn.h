// Ops of networks: products, pooling, normalization, activations, dropout.
#pragma once

#include <limits>
#include <span>

#include <octet/runtime/ops/window.h>
#include <octet/runtime/rng.h>
#include <octet/runtime/variable.h>

namespace octet {

// Convolutions of images [n,h,w,c] and sequences [n,l,c].

/// 2-D cross-correlation with zero padding. With groups, channels and outputs
/// are split into that many independent parts.
/// Shapes: x [n,h,w,c], kernel [kh,kw,c/groups,k] -> [n,oh,ow,k].
/// If x and the kernel are both quantized, their quantized values are
/// multiplied, exactly while max|q_x| * sum|q_w| is at most 2^24.
/// Throws: ShapeError, ValueError.
Variable conv2d(const Variable& x, const Variable& kernel,
                const WindowOptions& options = {}, int64_t groups = 1);

/// The transpose of conv2d: maps x as conv2d's input gradient maps the gradient
/// of its output, for an image of size `output`. (With strides, several sizes
/// are possible.) Quantized values are multiplied as in conv2d, with the scales
/// of the kernel on axis 2; with groups only if they have one scale.
/// Shapes: x [n,h,w,c], kernel [kh,kw,k/groups,c] -> [n,output.h,output.w,k].
/// Throws: ShapeError, also if conv2d does not map `output` to the size of x;
/// ValueError.
Variable conv2d_transpose(const Variable& x, const Variable& kernel,
                          Size2 output, const WindowOptions& options = {},
                          int64_t groups = 1);

/// 2-D cross-correlation per channel: output c*m + i is channel c filtered with
/// its i-th window. Quantized values are multiplied as in conv2d, with the
/// scales of the kernel on axis 2.
/// Shapes: x [n,h,w,c], kernel [kh,kw,c,m] -> [n,oh,ow,c*m].
/// Throws: ShapeError, ValueError.
Variable depthwise_conv2d(const Variable& x, const Variable& kernel,
                          const WindowOptions& options = {});

/// conv2d for sequences, with the same kernels.
/// Shapes: x [n,l,c], kernel [kl,c/groups,k] -> [n,ol,k].
/// Throws: ShapeError, ValueError.
Variable conv1d(const Variable& x, const Variable& kernel,
                const WindowOptions1D& options = {}, int64_t groups = 1);

/// depthwise_conv2d for sequences; the scales of the kernel are on axis 1.
/// Shapes: x [n,l,c], kernel [kl,c,m] -> [n,ol,c*m].
/// Throws: ShapeError, ValueError.
Variable depthwise_conv1d(const Variable& x, const Variable& kernel,
                          const WindowOptions1D& options = {});

// Matrix products.

/// Matrix product over the last axis.
/// Shapes: x [...,c], kernel [c,units] -> [...,units]. Throws: ShapeError.
Variable dense(const Variable& x, const Variable& kernel);

/// Options of matmul().
/// Fields in order: transpose_a, transpose_b
struct MatmulOptions {
  bool transpose_a = false;  ///< a is [...,k,m]
  bool transpose_b = false;  ///< b is [...,n,k]
};

/// Matrix products over the last two axes.
/// Shapes: a [...,m,k], b [...,k,n] -> [...,m,n]; leading axes are batch
/// dimensions, broadcast as in NumPy. Quantized values are multiplied and their
/// sums scaled once, as in dense(), if a is quantized to at most 8 bits and b
/// within int8, per tensor and with ranges that include 0.
/// Throws: ShapeError.
Variable matmul(const Variable& a, const Variable& b,
                const MatmulOptions& options = {});

// Pooling of images [n,h,w,c] and sequences [n,l,c]. Pooling over whole images
// is a reduction: mean(x, {1, 2}) and max(x, {1, 2}), over sequences {1}.

/// Largest number of pixels in a window of max_pool2d().
inline constexpr int64_t kMaxPoolCells = 256;
/// Maximum of each window. Padding counts as -infinity; the first of equal
/// maxima gets the gradient. Shapes: [n,h,w,c] -> [n,oh,ow,c].
/// Throws: ShapeError; ValueError if a window would contain only padding;
/// UnsupportedError for windows of more than kMaxPoolCells pixels.
Variable max_pool2d(const Variable& x, Size2 window,
                    const WindowOptions& options);

/// Mean of each window, excluding padding.
/// Shapes: [n,h,w,c] -> [n,oh,ow,c].
/// Throws: ShapeError; ValueError if a window would contain only padding;
/// UnsupportedError for dilation.
Variable avg_pool2d(const Variable& x, Size2 window,
                    const WindowOptions& options);

/// max_pool2d for sequences. Shapes: [n,l,c] -> [n,ol,c]. Throws: as
/// max_pool2d.
Variable max_pool1d(const Variable& x, Size1 window,
                    const WindowOptions1D& options);

/// avg_pool2d for sequences. Shapes: [n,l,c] -> [n,ol,c]. Throws: as
/// avg_pool2d.
Variable avg_pool1d(const Variable& x, Size1 window,
                    const WindowOptions1D& options);

// Normalization over channels and over rows.

/// gamma * (x - mean) / sqrt(variance + epsilon) + beta over the last axis,
/// with given statistics. gamma and beta may be empty (1 and 0).
/// Shapes: x [...,c], all others [c].
/// Throws: ShapeError; ValueError for epsilon <= 0 or a negative variance.
Variable batch_norm(const Variable& x, const Variable& gamma,
                    const Variable& beta, const Tensor& mean,
                    const Tensor& variance, float epsilon);

/// Batch normalization with the statistics of the batch (biased variance).
/// Updates the running statistics: running = momentum * running + (1 -
/// momentum) * batch.
/// Throws: ShapeError, also without samples; ValueError for epsilon <= 0 or a
/// momentum outside [0, 1].
/// Source: Keras BatchNormalization, training=True.
Variable batch_norm_training(const Variable& x, const Variable& gamma,
                             const Variable& beta, std::span<float> moving_mean,
                             std::span<float> moving_variance, float momentum,
                             float epsilon);

/// gamma * (x - mean) / sqrt(variance + epsilon) + beta, with mean and biased
/// variance of each row of the last axis. gamma and beta may be empty (1 and
/// 0).
/// Shapes: x [...,c], gamma and beta [c]. Throws: ShapeError.
/// Source: Ba et al., arXiv 1607.06450, eq. 3.
Variable layer_norm(const Variable& x, const Variable& gamma,
                    const Variable& beta, float epsilon);

// Elementwise activation functions. NaN stays NaN; infinities map to the
// functions' limits.

/// min(max(x, 0), max_value). The gradient at both bounds is 0.
/// Throws: ValueError for max_value <= 0.
Variable relu(const Variable& x);
Variable relu(const Variable& x, float max_value);

/// Parameters of relu().
/// Fields in order: max_value, negative_slope, threshold
struct ReluOptions {
  /// Upper bound, > 0. Default: none.
  float max_value = std::numeric_limits<float>::infinity();
  float negative_slope = 0;  ///< slope up to the threshold, finite
  float threshold = 0;       ///< largest x of the sloped part, finite
};

/// min(x, max_value) for x > threshold, else negative_slope * (x - threshold)
/// with gradient negative_slope.
/// Throws: ValueError for max_value <= 0 or a non-finite slope or threshold.
/// Source: Keras, activations.relu.
Variable relu(const Variable& x, const ReluOptions& options);

/// x > 0 ? x : slope * x.
Variable leaky_relu(const Variable& x, float slope);
/// x > 0 ? x : alpha * x. Shapes: alpha broadcasts to x, as in NumPy. The
/// gradient at 0 is 0. Throws: ShapeError.
Variable prelu(const Variable& x, const Variable& alpha);
/// x > 0 ? x : alpha * (exp(x) - 1).
Variable elu(const Variable& x, float alpha = 1);
/// 1.0507 * elu(x, 1.6733).
/// Source: Klambauer et al. 2017, Self-Normalizing Neural Networks.
Variable selu(const Variable& x);

/// 1 / (1 + exp(-x)).
Variable sigmoid(const Variable& x);
/// The hyperbolic tangent.
Variable tanh(const Variable& x);
/// x * sigmoid(x), also called SiLU.
Variable swish(const Variable& x);

/// Formula of gelu().
enum class GeluForm {
  exact,             ///< x * P(X <= x) for a standard normal X
  tanh_approximate,  ///< x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))
};

/// The Gaussian error linear unit.
/// Source: Hendrycks and Gimpel 2016, Gaussian Error Linear Units.
Variable gelu(const Variable& x, GeluForm form = GeluForm::exact);

/// min(max(x + 3, 0), 6) / 6. Source: Keras 3, activations.hard_sigmoid.
Variable hard_sigmoid(const Variable& x);
/// x * hard_sigmoid(x), also called hard SiLU.
Variable hard_swish(const Variable& x);
/// log(1 + exp(x)).
Variable softplus(const Variable& x);
/// x / (1 + |x|).
Variable softsign(const Variable& x);
/// exp(x).
Variable exponential(const Variable& x);

// Softmax.

/// exp(x) / sum exp(x) along an axis, within 3e-7 of the exact value; NaN for
/// slices with NaN or inf, or with only -inf.
/// Throws: ShapeError for an axis out of range or of size 0.
Variable softmax(const Variable& x, int axis = -1);

// Noise for training. Samples depend only on the key of the random stream and
// on the shape: pass a separate stream to each call. Bit-identical for any
// number of threads.

/// Sets each element to zero with probability `rate` and divides the others by
/// 1 - rate. `noise_shape` has x's rank; elements along its axes of size 1 are
/// dropped together: [n,1,1,c] drops channels.
/// Throws: ValueError for a rate outside [0,1); ShapeError.
Variable dropout(const Variable& x, float rate, const Rng& rng);
Variable dropout(const Variable& x, float rate, const Rng& rng,
                 const Shape& noise_shape);

/// Adds normal noise of mean 0. Throws: ValueError unless stddev is finite
/// and >= 0.
Variable gaussian_noise(const Variable& x, float stddev, const Rng& rng);

}  // namespace octet
