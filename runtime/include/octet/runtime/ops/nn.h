// Ops of networks: products, pooling, normalization, activations, dropout.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include <octet/runtime/rng.h>
#include <octet/runtime/tensor.h>
#include <octet/runtime/variable.h>

namespace octet {

// Sliding windows over images and sequences: sizes, strides, padding.

/// Elements added or removed at the ends of an axis. As in Keras: `1` applies
/// to both ends, `{0, 1}` only to the last.
struct Ends {
  int64_t begin = 0;  ///< elements before the first
  int64_t end = 0;    ///< elements after the last

  constexpr Ends() = default;
  constexpr Ends(Count auto both) : Ends(both, both) {}
  constexpr Ends(Count auto before, Count auto behind)
      : begin(static_cast<int64_t>(before)),
        end(static_cast<int64_t>(behind)) {}
  bool operator==(const Ends&) const = default;
};

/// Pixels added or removed around an image. As in Keras: `1` applies to all
/// sides, `{1, 2}` is 1 above and below and 2 left and right, `{{0, 1}, {2,
/// 3}}` is top and bottom, left and right; also written `{0, 1, 2, 3}`.
struct Pads {
  int64_t top = 0;     ///< rows above the first
  int64_t bottom = 0;  ///< rows below the last
  int64_t left = 0;    ///< columns before the first
  int64_t right = 0;   ///< columns after the last

  /// Rows above and below, or columns left and right.
  using Ends = octet::Ends;

  constexpr Pads() = default;
  constexpr Pads(Count auto all) : Pads(all, all) {}
  constexpr Pads(Count auto rows, Count auto columns)
      : Pads(rows, rows, columns, columns) {}
  constexpr Pads(Ends rows, Ends columns)
      : Pads(rows.begin, rows.end, columns.begin, columns.end) {}
  constexpr Pads(Count auto above, Count auto below, Count auto before,
                 Count auto behind)
      : top(static_cast<int64_t>(above)),
        bottom(static_cast<int64_t>(below)),
        left(static_cast<int64_t>(before)),
        right(static_cast<int64_t>(behind)) {}
  bool operator==(const Pads&) const = default;
};

/// Positions of the windows of a convolution or pooling over images.
/// Fields in order: strides, dilation, pads
struct WindowOptions {
  Size2 strides{1, 1};   ///< distance between windows, [1, kMaxWindow]
  Size2 dilation{1, 1};  ///< distance between taps, [1, kMaxWindow]
  Pads pads{};           ///< padding around the image, [0, kMaxWindow]
};

/// Positions of the windows of a convolution or pooling over sequences.
struct WindowOptions1D {
  int64_t stride = 1;    ///< distance between windows, [1, kMaxWindow]
  int64_t dilation = 1;  ///< distance between taps, [1, kMaxWindow]
  Ends pads{};           ///< padding at the ends, [0, kMaxWindow]
};

/// Largest size, stride, dilation and padding of a window; keeps products and
/// sums within 64 bits.
inline constexpr int64_t kMaxWindow = int64_t{1} << 31;

/// Number of window positions along one axis; 0 if the window does not fit.
/// `pads` is the total padding of both ends.
/// Throws: ValueError for a stride < 1, or anything above kMaxWindow.
int64_t window_positions(int64_t size, int64_t window, int64_t stride,
                         int64_t dilation, int64_t pads);

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
inline Variable exp(const Variable& x) { return exponential(x); }

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

/// Further activation functions. Source: keras.ops, with default arguments.
/// silu() and hard_silu() are swish() and hard_swish(); celu() is elu().
inline Variable silu(const Variable& x) { return swish(x); }
inline Variable hard_silu(const Variable& x) { return hard_swish(x); }
inline Variable celu(const Variable& x) { return elu(x); }
/// min(max(x, 0), 6).
inline Variable relu6(const Variable& x) { return relu(x, 6); }
/// gelu() with or without the approximation by tanh.
inline Variable gelu(const Variable& x, bool approximate) {
  return gelu(x, approximate ? GeluForm::tanh_approximate : GeluForm::exact);
}
/// log(sigmoid(x)).
Variable log_sigmoid(const Variable& x);
/// x * tanh(softplus(x)). Source: Misra 2019, arXiv 1908.08681.
Variable mish(const Variable& x);
/// The logarithm of softmax(). Throws: as softmax().
Variable log_softmax(const Variable& x, int axis = -1);
/// Divides by the Euclidean norm over axes, or by epsilon if that is larger.
/// Throws: as sum().
Variable normalize(const Variable& x, const std::vector<int>& axes,
                   float epsilon = 1e-12f);

// Loss functions. Computed in double precision from f32 values; targets, labels
// and weights get no gradient.

/// Reduction of the losses l of n samples with weights w (default 1).
enum class Reduction {
  mean,  ///< sum(w * l) / n -> []; Keras' "sum_over_batch_size"
  none,  ///< w * l -> [n]
};

/// Sample weights and reduction of a loss.
/// Fields in order: weights, reduction
struct LossOptions {
  Tensor weights = {};  ///< of samples, f32 [n], finite, >= 0; empty: all 1
  Reduction reduction = Reduction::mean;  ///< of the losses of the samples
};

/// Options of the cross-entropy losses.
/// Fields in order: label_smoothing, from_logits, ignore_label
struct CrossEntropyOptions {
  /// Share of the target distributed evenly over the classes (in
  /// binary_cross_entropy: over 0 and 1), in [0, 1]. Default: 0.
  float label_smoothing = 0.0f;
  /// Whether outputs are logits (default) or probabilities after softmax
  /// (sigmoid in binary_cross_entropy). For probabilities, the gradient is
  /// taken with respect to the logits if they were computed by softmax(), else
  /// through probabilities clipped at 1e-7, as in Keras.
  std::optional<bool> from_logits = {};
  /// Class index of positions to ignore, such as 255 in Pascal VOC masks. For
  /// softmax_cross_entropy() only. Default: none.
  std::optional<int64_t> ignore_label = {};
};

/// -log softmax(logits)[label], averaged over the positions (pixels) of a
/// sample that are not ignored. A sample without any has loss 0.
/// Shapes: outputs [n,...,classes] (f32), labels [n,...] (i64) -> [] or [n].
/// Throws: ShapeError; ValueError for a label outside [0, classes), options out
/// of range, or from_logits with outputs of softmax().
Variable softmax_cross_entropy(const Variable& outputs, const Tensor& labels,
                               const CrossEntropyOptions& options = {},
                               const LossOptions& loss_options = {});

/// -sum(targets * log softmax(logits)), averaged over the positions of a
/// sample. Targets of a position should sum to 1 (not checked).
/// Shapes: outputs and targets [n,...,classes] (f32) -> [] or [n].
/// Throws: ShapeError; ValueError for options out of range, an ignore_label, or
/// from_logits with outputs of softmax().
Variable categorical_cross_entropy(const Variable& outputs,
                                   const Tensor& targets,
                                   const CrossEntropyOptions& options = {},
                                   const LossOptions& loss_options = {});

/// Mean over a sample of -t log s - (1 - t) log(1 - s), with s the sigmoid of a
/// logit and t its target.
/// Shapes: outputs [n,...], targets of the same shape (f32) -> [] or [n].
/// Throws: as categorical_cross_entropy, for sigmoid().
Variable binary_cross_entropy(const Variable& outputs, const Tensor& targets,
                              const CrossEntropyOptions& options = {},
                              const LossOptions& loss_options = {});

/// Mean over a sample of (output - target)^2.
/// Shapes: outputs [n,...], targets of the same shape (f32) -> [] or [n].
/// Throws: ShapeError; ValueError for weights out of range.
Variable mean_squared_error(const Variable& outputs, const Tensor& targets,
                            const LossOptions& loss_options = {});

/// Mean over a sample of |output - target|; the gradient at 0 is 0.
/// Shapes and throws: as mean_squared_error.
Variable mean_absolute_error(const Variable& outputs, const Tensor& targets,
                             const LossOptions& loss_options = {});

/// Options of huber().
struct HuberOptions {
  float delta = 1.0f;  ///< end of the quadratic range, > 0, finite
};
/// Mean over a sample of e^2 / 2 for |e| <= delta, else delta * |e| - delta^2 /
/// 2.
/// Shapes and throws: as mean_squared_error; ValueError for delta.
/// Source: Huber, "Robust estimation of a location parameter", 1964, with the
/// factors of Keras.
Variable huber(const Variable& outputs, const Tensor& targets,
               const HuberOptions& options = {},
               const LossOptions& loss_options = {});

/// Options of distillation_loss().
/// Fields in order: temperature, alpha, label_smoothing, from_logits,
/// teacher_from_logits
struct DistillationOptions {
  float temperature = 1.0f;      ///< T > 0, finite
  float alpha = 0.5f;            ///< weight of the teacher's term, [0, 1]
  float label_smoothing = 0.0f;  ///< of `labels`, as in CrossEntropyOptions
  std::optional<bool> from_logits = {};          ///< as in CrossEntropyOptions
  std::optional<bool> teacher_from_logits = {};  ///< likewise for `teacher`
};
/// (1 - alpha) * softmax_cross_entropy
///   + alpha * T^2 * KL(softmax(teacher / T) || softmax(logits / T)).
/// Shapes: outputs and teacher [n,classes], labels [n] (i64) -> [] or [n].
/// Throws: ShapeError; ValueError for a label or options out of range.
/// Source: Hinton, Vinyals and Dean, arXiv 1503.02531, section 2.
Variable distillation_loss(const Variable& outputs, const Tensor& teacher,
                           const Tensor& labels,
                           const DistillationOptions& options = {},
                           const LossOptions& loss_options = {});

/// l1 * sum |x| + l2 * sum x^2; the gradient of |x| at 0 is 0.
/// Shapes: any -> [].
Variable regularization_loss(const Variable& x, float l1, float l2);

}  // namespace octet
