// Each function runs the op on Variables without recording.
#include <utility>

#include <octet/runtime/ops.h>

namespace octet {
namespace {

template <class Op>
Tensor compute(const Op& op) {
  const NoGradGuard no_grad;
  return op().value();
}

template <class Op>
std::vector<Tensor> compute_all(const Op& op) {
  const NoGradGuard no_grad;
  std::vector<Tensor> results;
  for (const Variable& y : op()) results.push_back(y.value());
  return results;
}

std::vector<Variable> variables_of(std::span<const Tensor> tensors) {
  return {tensors.begin(), tensors.end()};
}

Variable variable_or_empty(const Tensor& x) {
  return x.empty() ? Variable() : Variable(x);
}

}  // namespace

Tensor bias_add(const Tensor& x, const Tensor& bias) {
  return compute([&] { return bias_add(Variable(x), Variable(bias)); });
}
Tensor add(const Tensor& x, const Tensor& y) {
  return compute([&] { return add(Variable(x), Variable(y)); });
}
Tensor subtract(const Tensor& x, const Tensor& y) {
  return compute([&] { return subtract(Variable(x), Variable(y)); });
}
Tensor multiply(const Tensor& x, const Tensor& y) {
  return compute([&] { return multiply(Variable(x), Variable(y)); });
}
Tensor divide(const Tensor& x, const Tensor& y) {
  return compute([&] { return divide(Variable(x), Variable(y)); });
}
Tensor maximum(const Tensor& x, const Tensor& y) {
  return compute([&] { return maximum(Variable(x), Variable(y)); });
}
Tensor minimum(const Tensor& x, const Tensor& y) {
  return compute([&] { return minimum(Variable(x), Variable(y)); });
}
Tensor scale_shift(const Tensor& x, float scale, float shift) {
  return compute([&] { return scale_shift(Variable(x), scale, shift); });
}
Tensor abs(const Tensor& x) {
  return compute([&] { return abs(Variable(x)); });
}
Tensor absolute(const Tensor& x) {
  return compute([&] { return absolute(Variable(x)); });
}
Tensor negative(const Tensor& x) {
  return compute([&] { return negative(Variable(x)); });
}
Tensor neg(const Tensor& x) {
  return compute([&] { return neg(Variable(x)); });
}
Tensor negate(const Tensor& x) {
  return compute([&] { return negate(Variable(x)); });
}
Tensor square(const Tensor& x) {
  return compute([&] { return square(Variable(x)); });
}
Tensor sqrt(const Tensor& x) {
  return compute([&] { return sqrt(Variable(x)); });
}
Tensor rsqrt(const Tensor& x) {
  return compute([&] { return rsqrt(Variable(x)); });
}
Tensor reciprocal(const Tensor& x) {
  return compute([&] { return reciprocal(Variable(x)); });
}
Tensor exp(const Tensor& x) {
  return compute([&] { return exp(Variable(x)); });
}
Tensor exponential(const Tensor& x) {
  return compute([&] { return exponential(Variable(x)); });
}
Tensor log(const Tensor& x) {
  return compute([&] { return log(Variable(x)); });
}
Tensor sin(const Tensor& x) {
  return compute([&] { return sin(Variable(x)); });
}
Tensor cos(const Tensor& x) {
  return compute([&] { return cos(Variable(x)); });
}
Tensor floor(const Tensor& x) {
  return compute([&] { return floor(Variable(x)); });
}
Tensor ceil(const Tensor& x) {
  return compute([&] { return ceil(Variable(x)); });
}
Tensor round(const Tensor& x) {
  return compute([&] { return round(Variable(x)); });
}
Tensor sign(const Tensor& x) {
  return compute([&] { return sign(Variable(x)); });
}
Tensor erf(const Tensor& x) {
  return compute([&] { return erf(Variable(x)); });
}
Tensor power(const Tensor& x, float exponent) {
  return compute([&] { return power(Variable(x), exponent); });
}
Tensor pow(const Tensor& x, float exponent) {
  return compute([&] { return pow(Variable(x), exponent); });
}
Tensor clip(const Tensor& x, std::optional<float> min,
            std::optional<float> max) {
  return compute([&] { return clip(Variable(x), min, max); });
}
Tensor affine(const Tensor& x, const std::vector<float>& scale,
              const std::vector<float>& offset) {
  return compute([&] { return affine(Variable(x), scale, offset); });
}
Tensor relu(const Tensor& x) {
  return compute([&] { return relu(Variable(x)); });
}
Tensor relu(const Tensor& x, float max_value) {
  return compute([&] { return relu(Variable(x), max_value); });
}
Tensor relu(const Tensor& x, const ReluOptions& options) {
  return compute([&] { return relu(Variable(x), options); });
}
Tensor relu6(const Tensor& x) {
  return compute([&] { return relu6(Variable(x)); });
}
Tensor leaky_relu(const Tensor& x, float slope) {
  return compute([&] { return leaky_relu(Variable(x), slope); });
}
Tensor prelu(const Tensor& x, const Tensor& alpha) {
  return compute([&] { return prelu(Variable(x), Variable(alpha)); });
}
Tensor elu(const Tensor& x, float alpha) {
  return compute([&] { return elu(Variable(x), alpha); });
}
Tensor celu(const Tensor& x) {
  return compute([&] { return celu(Variable(x)); });
}
Tensor selu(const Tensor& x) {
  return compute([&] { return selu(Variable(x)); });
}
Tensor sigmoid(const Tensor& x) {
  return compute([&] { return sigmoid(Variable(x)); });
}
Tensor log_sigmoid(const Tensor& x) {
  return compute([&] { return log_sigmoid(Variable(x)); });
}
Tensor hard_sigmoid(const Tensor& x) {
  return compute([&] { return hard_sigmoid(Variable(x)); });
}
Tensor tanh(const Tensor& x) {
  return compute([&] { return tanh(Variable(x)); });
}
Tensor swish(const Tensor& x) {
  return compute([&] { return swish(Variable(x)); });
}
Tensor silu(const Tensor& x) {
  return compute([&] { return silu(Variable(x)); });
}
Tensor hard_swish(const Tensor& x) {
  return compute([&] { return hard_swish(Variable(x)); });
}
Tensor hard_silu(const Tensor& x) {
  return compute([&] { return hard_silu(Variable(x)); });
}
Tensor mish(const Tensor& x) {
  return compute([&] { return mish(Variable(x)); });
}
Tensor gelu(const Tensor& x, GeluForm form) {
  return compute([&] { return gelu(Variable(x), form); });
}
Tensor gelu(const Tensor& x, bool approximate) {
  return compute([&] { return gelu(Variable(x), approximate); });
}
Tensor softplus(const Tensor& x) {
  return compute([&] { return softplus(Variable(x)); });
}
Tensor softsign(const Tensor& x) {
  return compute([&] { return softsign(Variable(x)); });
}
Tensor softmax(const Tensor& x, int axis) {
  return compute([&] { return softmax(Variable(x), axis); });
}
Tensor log_softmax(const Tensor& x, int axis) {
  return compute([&] { return log_softmax(Variable(x), axis); });
}
Tensor normalize(const Tensor& x, const std::vector<int>& axes, float epsilon) {
  return compute([&] { return normalize(Variable(x), axes, epsilon); });
}
Tensor sum(const Tensor& x) {
  return compute([&] { return sum(Variable(x)); });
}
Tensor sum(const Tensor& x, const std::vector<int>& axes, Keepdims keepdims) {
  return compute([&] { return sum(Variable(x), axes, keepdims); });
}
Tensor mean(const Tensor& x) {
  return compute([&] { return mean(Variable(x)); });
}
Tensor mean(const Tensor& x, const std::vector<int>& axes, Keepdims keepdims) {
  return compute([&] { return mean(Variable(x), axes, keepdims); });
}
Tensor max(const Tensor& x) {
  return compute([&] { return max(Variable(x)); });
}
Tensor max(const Tensor& x, const std::vector<int>& axes, Keepdims keepdims) {
  return compute([&] { return max(Variable(x), axes, keepdims); });
}
Tensor min(const Tensor& x) {
  return compute([&] { return min(Variable(x)); });
}
Tensor min(const Tensor& x, const std::vector<int>& axes, Keepdims keepdims) {
  return compute([&] { return min(Variable(x), axes, keepdims); });
}
Tensor prod(const Tensor& x) {
  return compute([&] { return prod(Variable(x)); });
}
Tensor prod(const Tensor& x, const std::vector<int>& axes, Keepdims keepdims) {
  return compute([&] { return prod(Variable(x), axes, keepdims); });
}
Tensor logsumexp(const Tensor& x, const std::vector<int>& axes,
                 Keepdims keepdims) {
  return compute([&] { return logsumexp(Variable(x), axes, keepdims); });
}
Tensor argmax(const Tensor& x, int axis, Keepdims keepdims) {
  return compute([&] { return argmax(Variable(x), axis, keepdims); });
}
Tensor argmin(const Tensor& x, int axis, Keepdims keepdims) {
  return compute([&] { return argmin(Variable(x), axis, keepdims); });
}
Tensor compare(Comparison comparison, const Tensor& x, const Tensor& y) {
  return compute([&] { return compare(comparison, Variable(x), Variable(y)); });
}
Tensor equal(const Tensor& x, const Tensor& y) {
  return compute([&] { return equal(Variable(x), Variable(y)); });
}
Tensor equal(const Tensor& x, float y) {
  return compute([&] { return equal(Variable(x), y); });
}
Tensor not_equal(const Tensor& x, const Tensor& y) {
  return compute([&] { return not_equal(Variable(x), Variable(y)); });
}
Tensor not_equal(const Tensor& x, float y) {
  return compute([&] { return not_equal(Variable(x), y); });
}
Tensor greater(const Tensor& x, const Tensor& y) {
  return compute([&] { return greater(Variable(x), Variable(y)); });
}
Tensor greater(const Tensor& x, float y) {
  return compute([&] { return greater(Variable(x), y); });
}
Tensor greater_equal(const Tensor& x, const Tensor& y) {
  return compute([&] { return greater_equal(Variable(x), Variable(y)); });
}
Tensor greater_equal(const Tensor& x, float y) {
  return compute([&] { return greater_equal(Variable(x), y); });
}
Tensor less(const Tensor& x, const Tensor& y) {
  return compute([&] { return less(Variable(x), Variable(y)); });
}
Tensor less(const Tensor& x, float y) {
  return compute([&] { return less(Variable(x), y); });
}
Tensor less_equal(const Tensor& x, const Tensor& y) {
  return compute([&] { return less_equal(Variable(x), Variable(y)); });
}
Tensor less_equal(const Tensor& x, float y) {
  return compute([&] { return less_equal(Variable(x), y); });
}
Tensor logical_and(const Tensor& x, const Tensor& y) {
  return compute([&] { return logical_and(Variable(x), Variable(y)); });
}
Tensor logical_or(const Tensor& x, const Tensor& y) {
  return compute([&] { return logical_or(Variable(x), Variable(y)); });
}
Tensor logical_xor(const Tensor& x, const Tensor& y) {
  return compute([&] { return logical_xor(Variable(x), Variable(y)); });
}
Tensor logical_not(const Tensor& x) {
  return compute([&] { return logical_not(Variable(x)); });
}
Tensor where(const Tensor& condition, const Tensor& x, const Tensor& y) {
  return compute(
      [&] { return where(Variable(condition), Variable(x), Variable(y)); });
}
Tensor moveaxis(const Tensor& x, int source, int destination) {
  return compute([&] { return moveaxis(Variable(x), source, destination); });
}
Tensor swapaxes(const Tensor& x, int axis1, int axis2) {
  return compute([&] { return swapaxes(Variable(x), axis1, axis2); });
}
Tensor squeeze(const Tensor& x, const std::vector<int>& axes) {
  return compute([&] { return squeeze(Variable(x), axes); });
}
Tensor expand_dims(const Tensor& x, int axis) {
  return compute([&] { return expand_dims(Variable(x), axis); });
}
Tensor flatten(const Tensor& x) {
  return compute([&] { return flatten(Variable(x)); });
}
Tensor depth_to_space(const Tensor& x, int64_t block_size) {
  return compute([&] { return depth_to_space(Variable(x), block_size); });
}
Tensor space_to_depth(const Tensor& x, int64_t block_size) {
  return compute([&] { return space_to_depth(Variable(x), block_size); });
}
Tensor broadcast_to(const Tensor& x, const Shape& shape) {
  return compute([&] { return broadcast_to(Variable(x), shape); });
}
Tensor concatenate(std::span<const Tensor> inputs, int axis) {
  return compute([&] { return concatenate(variables_of(inputs), axis); });
}
Tensor stack(std::span<const Tensor> inputs, int axis) {
  return compute([&] { return stack(variables_of(inputs), axis); });
}
std::vector<Tensor> split(const Tensor& x, int64_t sections, int axis) {
  return compute_all([&] { return split(Variable(x), sections, axis); });
}
std::vector<Tensor> split(const Tensor& x, const std::vector<int64_t>& indices,
                          int axis) {
  return compute_all([&] { return split(Variable(x), indices, axis); });
}
std::vector<Tensor> split(const Tensor& x,
                          std::initializer_list<int64_t> indices, int axis) {
  return compute_all([&] { return split(Variable(x), indices, axis); });
}
Tensor slice(const Tensor& x, int axis, int64_t first, int64_t count,
             int64_t step) {
  return compute([&] { return slice(Variable(x), axis, first, count, step); });
}
Tensor slice(const Tensor& x, const std::vector<int64_t>& start,
             const std::vector<int64_t>& shape) {
  return compute([&] { return slice(Variable(x), start, shape); });
}
Tensor gather(const Tensor& x, int axis, std::vector<int64_t> indices) {
  return compute([&] { return gather(Variable(x), axis, std::move(indices)); });
}
Tensor take(const Tensor& x, std::vector<int64_t> indices, int axis) {
  return compute([&] { return take(Variable(x), std::move(indices), axis); });
}
Tensor embedding(const Tensor& indices, const Tensor& table) {
  return compute([&] { return embedding(Variable(indices), Variable(table)); });
}
Tensor flip(const Tensor& x, int axis) {
  return compute([&] { return flip(Variable(x), axis); });
}
Tensor repeat(const Tensor& x, int64_t repeats, int axis) {
  return compute([&] { return repeat(Variable(x), repeats, axis); });
}
Tensor tile(const Tensor& x, const std::vector<int64_t>& repeats) {
  return compute([&] { return tile(Variable(x), repeats); });
}
Tensor roll(const Tensor& x, int64_t shift, int axis) {
  return compute([&] { return roll(Variable(x), shift, axis); });
}
Tensor pad(const Tensor& x, const std::vector<Ends>& pad_width,
           const std::string& mode, float value) {
  return compute([&] { return pad(Variable(x), pad_width, mode, value); });
}
Tensor pad1d(const Tensor& x, const Ends& ends, float value) {
  return compute([&] { return pad1d(Variable(x), ends, value); });
}
Tensor pad2d(const Tensor& x, const Pads& pads, float value) {
  return compute([&] { return pad2d(Variable(x), pads, value); });
}
Tensor crop2d(const Tensor& x, const Pads& pads) {
  return compute([&] { return crop2d(Variable(x), pads); });
}
Tensor upsample2d(const Tensor& x, Size2 factors, Interpolation interpolation) {
  return compute(
      [&] { return upsample2d(Variable(x), factors, interpolation); });
}
Tensor resize2d(const Tensor& x, Size2 size, const ResizeOptions& options) {
  return compute([&] { return resize2d(Variable(x), size, options); });
}
Tensor dense(const Tensor& x, const Tensor& kernel) {
  return compute([&] { return dense(Variable(x), Variable(kernel)); });
}
Tensor matmul(const Tensor& a, const Tensor& b, const MatmulOptions& options) {
  return compute([&] { return matmul(Variable(a), Variable(b), options); });
}
Tensor conv1d(const Tensor& x, const Tensor& kernel,
              const WindowOptions1D& options, int64_t groups) {
  return compute(
      [&] { return conv1d(Variable(x), Variable(kernel), options, groups); });
}
Tensor conv2d(const Tensor& x, const Tensor& kernel,
              const WindowOptions& options, int64_t groups) {
  return compute(
      [&] { return conv2d(Variable(x), Variable(kernel), options, groups); });
}
Tensor conv2d_transpose(const Tensor& x, const Tensor& kernel, Size2 output,
                        const WindowOptions& options, int64_t groups) {
  return compute([&] {
    return conv2d_transpose(Variable(x), Variable(kernel), output, options,
                            groups);
  });
}
Tensor depthwise_conv1d(const Tensor& x, const Tensor& kernel,
                        const WindowOptions1D& options) {
  return compute(
      [&] { return depthwise_conv1d(Variable(x), Variable(kernel), options); });
}
Tensor depthwise_conv2d(const Tensor& x, const Tensor& kernel,
                        const WindowOptions& options) {
  return compute(
      [&] { return depthwise_conv2d(Variable(x), Variable(kernel), options); });
}
Tensor max_pool1d(const Tensor& x, Size1 window,
                  const WindowOptions1D& options) {
  return compute([&] { return max_pool1d(Variable(x), window, options); });
}
Tensor max_pool2d(const Tensor& x, Size2 window, const WindowOptions& options) {
  return compute([&] { return max_pool2d(Variable(x), window, options); });
}
Tensor avg_pool1d(const Tensor& x, Size1 window,
                  const WindowOptions1D& options) {
  return compute([&] { return avg_pool1d(Variable(x), window, options); });
}
Tensor avg_pool2d(const Tensor& x, Size2 window, const WindowOptions& options) {
  return compute([&] { return avg_pool2d(Variable(x), window, options); });
}
Tensor batch_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                  const Tensor& mean, const Tensor& variance, float epsilon) {
  return compute([&] {
    return batch_norm(Variable(x), variable_or_empty(gamma),
                      variable_or_empty(beta), mean, variance, epsilon);
  });
}
Tensor layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                  float epsilon) {
  return compute([&] {
    return layer_norm(Variable(x), variable_or_empty(gamma),
                      variable_or_empty(beta), epsilon);
  });
}

Tensor lstm(const Tensor& x, const Tensor& kernel,
            const RecurrentOptions& options) {
  return compute([&] { return lstm(Variable(x), Variable(kernel), options); });
}
Tensor gru(const Tensor& x, const Tensor& kernel, const Tensor& bias,
           const RecurrentOptions& options) {
  return compute([&] {
    return gru(Variable(x), Variable(kernel), variable_or_empty(bias), options);
  });
}
Tensor simple_rnn(const Tensor& x, const Tensor& kernel,
                  const RecurrentOptions& options) {
  return compute(
      [&] { return simple_rnn(Variable(x), Variable(kernel), options); });
}

}  // namespace octet
