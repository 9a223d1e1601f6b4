// Differentiable operations on Variables (ops/arithmetic.h, layout.h, nn.h,
// recurrent.h), and here the same functions on Tensors: the same names,
// parameters, defaults and errors, without gradients. Results are
// bit-identical.
//
//   const Tensor probabilities = softmax(logits);
//   const Tensor error = mean(abs(y - target) / 255);
//
// Images are [n,h,w,c], convolution kernels [kh,kw,c,k], dense kernels
// [c,units]. Operands and results are f32, except where a function says
// otherwise. reshape() and functions that leave x unchanged share its buffer.
// Losses, noise and batch statistics belong to training, and fake_quantize() to
// Variables, which know that they are quantized; a Tensor converts to a
// constant Variable. Documentation of each function: the header named in its
// section.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <octet/runtime/ops/arithmetic.h>
#include <octet/runtime/ops/layout.h>
#include <octet/runtime/ops/nn.h>
#include <octet/runtime/ops/recurrent.h>
#include <octet/runtime/quantization.h>

namespace octet {

/// Converts each element to `type`; fractions are dropped, nonzero numbers are
/// true. Accepts all element types.
/// Throws: ValueError for NaN or a number outside the range of `type`.
Tensor cast(const Tensor& x, DType type);

/// Arithmetic with broadcasting (ops/arithmetic.h).
Tensor bias_add(const Tensor& x, const Tensor& bias);
Tensor add(const Tensor& x, const Tensor& y);
Tensor subtract(const Tensor& x, const Tensor& y);
Tensor multiply(const Tensor& x, const Tensor& y);
Tensor divide(const Tensor& x, const Tensor& y);
Tensor maximum(const Tensor& x, const Tensor& y);
Tensor minimum(const Tensor& x, const Tensor& y);

/// scale * x + shift.
Tensor scale_shift(const Tensor& x, float scale, float shift = 0);

/// Elementwise functions (ops/arithmetic.h, ops/nn.h).
Tensor abs(const Tensor& x);
Tensor absolute(const Tensor& x);
Tensor negative(const Tensor& x);
Tensor neg(const Tensor& x);
Tensor negate(const Tensor& x);
Tensor square(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor rsqrt(const Tensor& x);
Tensor reciprocal(const Tensor& x);
Tensor exp(const Tensor& x);
Tensor exponential(const Tensor& x);
Tensor log(const Tensor& x);
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor floor(const Tensor& x);
Tensor ceil(const Tensor& x);
Tensor round(const Tensor& x);
Tensor sign(const Tensor& x);
Tensor erf(const Tensor& x);
Tensor power(const Tensor& x, float exponent);
Tensor pow(const Tensor& x, float exponent);
Tensor clip(const Tensor& x, std::optional<float> min,
            std::optional<float> max);
Tensor affine(const Tensor& x, const std::vector<float>& scale,
              const std::vector<float>& offset);

/// Activation functions (ops/nn.h).
Tensor relu(const Tensor& x);
Tensor relu(const Tensor& x, float max_value);
Tensor relu(const Tensor& x, const ReluOptions& options);
Tensor relu6(const Tensor& x);
Tensor leaky_relu(const Tensor& x, float slope);
Tensor prelu(const Tensor& x, const Tensor& alpha);
Tensor elu(const Tensor& x, float alpha = 1);
Tensor celu(const Tensor& x);
Tensor selu(const Tensor& x);
Tensor sigmoid(const Tensor& x);
Tensor log_sigmoid(const Tensor& x);
Tensor hard_sigmoid(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor swish(const Tensor& x);
Tensor silu(const Tensor& x);
Tensor hard_swish(const Tensor& x);
Tensor hard_silu(const Tensor& x);
Tensor mish(const Tensor& x);
Tensor gelu(const Tensor& x, GeluForm form = GeluForm::exact);
Tensor gelu(const Tensor& x, bool approximate);
Tensor softplus(const Tensor& x);
Tensor softsign(const Tensor& x);
Tensor softmax(const Tensor& x, int axis = -1);
Tensor log_softmax(const Tensor& x, int axis = -1);
Tensor normalize(const Tensor& x, const std::vector<int>& axes,
                 float epsilon = 1e-12f);

/// Reductions over all elements or some axes (ops/arithmetic.h).
Tensor sum(const Tensor& x);
Tensor sum(const Tensor& x, const std::vector<int>& axes,
           Keepdims keepdims = Keepdims::no);
Tensor mean(const Tensor& x);
Tensor mean(const Tensor& x, const std::vector<int>& axes,
            Keepdims keepdims = Keepdims::no);
Tensor max(const Tensor& x);
Tensor max(const Tensor& x, const std::vector<int>& axes,
           Keepdims keepdims = Keepdims::no);
Tensor min(const Tensor& x);
Tensor min(const Tensor& x, const std::vector<int>& axes,
           Keepdims keepdims = Keepdims::no);
Tensor prod(const Tensor& x);
Tensor prod(const Tensor& x, const std::vector<int>& axes,
            Keepdims keepdims = Keepdims::no);
Tensor logsumexp(const Tensor& x, const std::vector<int>& axes,
                 Keepdims keepdims = Keepdims::no);

/// Indices as f32: cast(argmax(y), DType::i64) are class indices
/// (ops/arithmetic.h).
Tensor argmax(const Tensor& x, int axis = -1, Keepdims keepdims = Keepdims::no);
Tensor argmin(const Tensor& x, int axis = -1, Keepdims keepdims = Keepdims::no);

/// Comparisons, 1 or 0, and logical functions (ops/arithmetic.h).
Tensor compare(Comparison comparison, const Tensor& x, const Tensor& y);
Tensor equal(const Tensor& x, const Tensor& y);
Tensor equal(const Tensor& x, float y);
Tensor not_equal(const Tensor& x, const Tensor& y);
Tensor not_equal(const Tensor& x, float y);
Tensor greater(const Tensor& x, const Tensor& y);
Tensor greater(const Tensor& x, float y);
Tensor greater_equal(const Tensor& x, const Tensor& y);
Tensor greater_equal(const Tensor& x, float y);
Tensor less(const Tensor& x, const Tensor& y);
Tensor less(const Tensor& x, float y);
Tensor less_equal(const Tensor& x, const Tensor& y);
Tensor less_equal(const Tensor& x, float y);
Tensor logical_and(const Tensor& x, const Tensor& y);
Tensor logical_or(const Tensor& x, const Tensor& y);
Tensor logical_xor(const Tensor& x, const Tensor& y);
Tensor logical_not(const Tensor& x);
Tensor where(const Tensor& condition, const Tensor& x, const Tensor& y);

/// Shapes and axes (ops/layout.h). reshape() and transpose()
/// accept all element types.
Tensor reshape(const Tensor& x, const Shape& shape);
Tensor transpose(const Tensor& x, const std::vector<int>& axes);
Tensor moveaxis(const Tensor& x, int source, int destination);
Tensor swapaxes(const Tensor& x, int axis1, int axis2);
Tensor squeeze(const Tensor& x, const std::vector<int>& axes);
Tensor expand_dims(const Tensor& x, int axis);
Tensor flatten(const Tensor& x);
Tensor depth_to_space(const Tensor& x, int64_t block_size);
Tensor space_to_depth(const Tensor& x, int64_t block_size);
Tensor broadcast_to(const Tensor& x, const Shape& shape);

/// Joining and splitting (ops/layout.h).
Tensor concatenate(std::span<const Tensor> inputs, int axis);
inline Tensor concatenate(std::initializer_list<Tensor> inputs, int axis) {
  return concatenate(std::span<const Tensor>(inputs.begin(), inputs.size()),
                     axis);
}
Tensor stack(std::span<const Tensor> inputs, int axis);
inline Tensor stack(std::initializer_list<Tensor> inputs, int axis) {
  return stack(std::span<const Tensor>(inputs.begin(), inputs.size()), axis);
}
std::vector<Tensor> split(const Tensor& x, int64_t sections, int axis);
std::vector<Tensor> split(const Tensor& x, const std::vector<int64_t>& indices,
                          int axis);
std::vector<Tensor> split(const Tensor& x,
                          std::initializer_list<int64_t> indices, int axis);

/// Selecting, repeating and padding (ops/layout.h).
Tensor slice(const Tensor& x, int axis, int64_t first, int64_t count,
             int64_t step = 1);
Tensor slice(const Tensor& x, const std::vector<int64_t>& start,
             const std::vector<int64_t>& shape);
Tensor gather(const Tensor& x, int axis, std::vector<int64_t> indices);
Tensor take(const Tensor& x, std::vector<int64_t> indices, int axis);
Tensor embedding(const Tensor& indices, const Tensor& table);
Tensor flip(const Tensor& x, int axis);
Tensor repeat(const Tensor& x, int64_t repeats, int axis);
Tensor tile(const Tensor& x, const std::vector<int64_t>& repeats);
Tensor roll(const Tensor& x, int64_t shift, int axis);
Tensor pad(const Tensor& x, const std::vector<Ends>& pad_width,
           const std::string& mode = "constant", float value = 0);
Tensor pad1d(const Tensor& x, const Ends& ends, float value = 0);
Tensor pad2d(const Tensor& x, const Pads& pads, float value = 0);
Tensor crop2d(const Tensor& x, const Pads& pads);

/// Resizing of images (ops/layout.h).
Tensor upsample2d(const Tensor& x, Size2 factors,
                  Interpolation interpolation = Interpolation::nearest);
Tensor resize2d(const Tensor& x, Size2 size, const ResizeOptions& options = {});

/// Matrix products and convolutions (ops/nn.h).
Tensor dense(const Tensor& x, const Tensor& kernel);
Tensor matmul(const Tensor& a, const Tensor& b,
              const MatmulOptions& options = {});
Tensor conv1d(const Tensor& x, const Tensor& kernel,
              const WindowOptions1D& options = {}, int64_t groups = 1);
Tensor conv2d(const Tensor& x, const Tensor& kernel,
              const WindowOptions& options = {}, int64_t groups = 1);
Tensor conv2d_transpose(const Tensor& x, const Tensor& kernel, Size2 output,
                        const WindowOptions& options = {}, int64_t groups = 1);
Tensor depthwise_conv1d(const Tensor& x, const Tensor& kernel,
                        const WindowOptions1D& options = {});
Tensor depthwise_conv2d(const Tensor& x, const Tensor& kernel,
                        const WindowOptions& options = {});

/// Pooling (ops/nn.h).
Tensor max_pool1d(const Tensor& x, Size1 window,
                  const WindowOptions1D& options);
Tensor max_pool2d(const Tensor& x, Size2 window, const WindowOptions& options);
Tensor avg_pool1d(const Tensor& x, Size1 window,
                  const WindowOptions1D& options);
Tensor avg_pool2d(const Tensor& x, Size2 window, const WindowOptions& options);

/// Normalization with given statistics, and of rows (ops/nn.h).
/// Empty gamma and beta are 1 and 0.
Tensor batch_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                  const Tensor& mean, const Tensor& variance, float epsilon);
Tensor layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                  float epsilon);

/// Recurrent cells over sequences (ops/recurrent.h). An empty bias is none.
Tensor lstm(const Tensor& x, const Tensor& kernel,
            const RecurrentOptions& options = {});
Tensor gru(const Tensor& x, const Tensor& kernel, const Tensor& bias,
           const RecurrentOptions& options = {});
Tensor simple_rnn(const Tensor& x, const Tensor& kernel,
                  const RecurrentOptions& options = {});

/// Operators: numbers apply to every element, tensors broadcast.
inline Tensor operator+(const Tensor& x, const Tensor& y) { return add(x, y); }
inline Tensor operator-(const Tensor& x, const Tensor& y) {
  return subtract(x, y);
}
inline Tensor operator*(const Tensor& x, const Tensor& y) {
  return multiply(x, y);
}
inline Tensor operator/(const Tensor& x, const Tensor& y) {
  return divide(x, y);
}
inline Tensor operator-(const Tensor& x) { return negate(x); }
template <Number N>
Tensor operator+(const Tensor& x, N y) {
  return scale_shift(x, 1, static_cast<float>(y));
}
template <Number N>
Tensor operator+(N x, const Tensor& y) {
  return y + x;
}
template <Number N>
Tensor operator-(const Tensor& x, N y) {
  return scale_shift(x, 1, -static_cast<float>(y));
}
template <Number N>
Tensor operator-(N x, const Tensor& y) {
  return scale_shift(y, -1, static_cast<float>(x));
}
template <Number N>
Tensor operator*(const Tensor& x, N y) {
  return scale_shift(x, static_cast<float>(y));
}
template <Number N>
Tensor operator*(N x, const Tensor& y) {
  return y * x;
}
template <Number N>
Tensor operator/(const Tensor& x, N y) {
  return divide(x, Tensor::scalar(static_cast<float>(y)));
}
template <Number N>
Tensor operator/(N x, const Tensor& y) {
  return divide(Tensor::scalar(static_cast<float>(x)), y);
}

}  // namespace octet
