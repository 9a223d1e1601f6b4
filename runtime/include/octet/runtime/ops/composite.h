// Functions composed of the ops in the other headers, named as in keras.ops and
// NumPy, so that Variables, Tensors (tensor_ops.h) and symbolic tensors
// (octet/layers/ops.h) share one vocabulary. Unlike there, axis 0 is an axis
// like any other. Negative axes count from the end.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include <octet/runtime/ops/arithmetic.h>
#include <octet/runtime/ops/layout.h>
#include <octet/runtime/ops/nn.h>

namespace octet {

/// Further names of absolute(), negate(), exponential() and power(). pow() and
/// neg() are PyTorch's names.
inline Variable abs(const Variable& x) { return absolute(x); }
inline Variable negative(const Variable& x) { return negate(x); }
inline Variable neg(const Variable& x) { return negate(x); }
inline Variable exp(const Variable& x) { return exponential(x); }
inline Variable pow(const Variable& x, float exponent) {
  return power(x, exponent);
}
/// 1 / x.
Variable reciprocal(const Variable& x);
/// 1 / sqrt(x).
Variable rsqrt(const Variable& x);
/// Limits x to [min, max]; each bound is optional. NaN stays NaN. The gradient
/// at a bound is half, as in maximum().
/// Throws: ValueError for NaN bounds or min > max.
Variable clip(const Variable& x, std::optional<float> min,
              std::optional<float> max);
/// x * scale + offset. `scale` and `offset` have a single number, or one for
/// each entry of the last axis. Throws: ShapeError for other numbers.
Variable affine(const Variable& x, const std::vector<float>& scale,
                const std::vector<float>& offset);

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

/// Indices of the largest and the smallest entries along an axis, the first of
/// equal ones, as f32. The last index if there is none because of NaN. Their
/// gradient is zero. Throws: as max().
Variable argmax(const Variable& x, int axis = -1,
                Keepdims keepdims = Keepdims::no);
Variable argmin(const Variable& x, int axis = -1,
                Keepdims keepdims = Keepdims::no);
/// log(sum(exp(x))), without overflow. Throws: as max().
Variable logsumexp(const Variable& x, const std::vector<int>& axes,
                   Keepdims keepdims = Keepdims::no);

/// Comparisons, elementwise: 1 if true, otherwise 0; NaN compares unequal to
/// everything. The gradient is zero. Throws: ShapeError.
Variable equal(const Variable& x, const Variable& y);
Variable equal(const Variable& x, float y);
Variable not_equal(const Variable& x, const Variable& y);
Variable not_equal(const Variable& x, float y);
Variable greater(const Variable& x, const Variable& y);
Variable greater(const Variable& x, float y);
Variable greater_equal(const Variable& x, const Variable& y);
Variable greater_equal(const Variable& x, float y);
Variable less(const Variable& x, const Variable& y);
Variable less(const Variable& x, float y);
Variable less_equal(const Variable& x, const Variable& y);
Variable less_equal(const Variable& x, float y);
/// Logical functions of comparison results, 1 or 0. Throws: ShapeError.
Variable logical_and(const Variable& x, const Variable& y);
Variable logical_or(const Variable& x, const Variable& y);
Variable logical_xor(const Variable& x, const Variable& y);
Variable logical_not(const Variable& x);

/// Moves an axis to position `destination`; the others keep their order.
/// Throws: ShapeError for an axis that does not exist.
Variable moveaxis(const Variable& x, int source, int destination);
/// Exchanges two axes. Throws: as moveaxis().
Variable swapaxes(const Variable& x, int axis1, int axis2);
/// Removes axes of size 1. Throws: ShapeError for an axis of another size.
Variable squeeze(const Variable& x, const std::vector<int>& axes);
/// Inserts an axis of size 1 as axis `axis` of the result. Throws: ShapeError.
Variable expand_dims(const Variable& x, int axis);
/// Merges all axes of each sample. Shapes: [n,...] -> [n,size].
/// Throws: ShapeError for rank 0.
Variable flatten(const Variable& x);
/// Moves blocks of channels to blocks of pixels, as tf.nn.depth_to_space:
/// [n,h,w,b*b*c] -> [n,b*h,b*w,c]; space_to_depth() is the inverse.
/// Throws: ShapeError for inputs other than images or sizes that a block does
/// not divide.
Variable depth_to_space(const Variable& x, int64_t block_size);
Variable space_to_depth(const Variable& x, int64_t block_size);

/// Joins tensors of one shape along a new axis.
/// Throws: ValueError without inputs; ShapeError.
Variable stack(const std::vector<Variable>& inputs, int axis);
/// Splits an axis into `sections` equal parts, or in front of each index; a
/// list in braces contains indices. Throws: ShapeError if `sections` does not
/// divide the size, or unless the indices ascend within the axis.
std::vector<Variable> split(const Variable& x, int64_t sections, int axis);
std::vector<Variable> split(const Variable& x,
                            const std::vector<int64_t>& indices, int axis);
std::vector<Variable> split(const Variable& x,
                            std::initializer_list<int64_t> indices, int axis);
/// gather() with the axis last: entries of an axis by index, in that order.
/// Throws: ShapeError if out of range.
Variable take(const Variable& x, std::vector<int64_t> indices, int axis);
/// Selects shape[i] entries of each axis i, beginning with start[i]; -1 selects
/// all remaining entries. Throws: ShapeError if out of range.
Variable slice(const Variable& x, const std::vector<int64_t>& start,
               const std::vector<int64_t>& shape);
/// Reverses an axis. Throws: ShapeError.
Variable flip(const Variable& x, int axis);
/// Repeats each entry of an axis `repeats` times, [a,b] -> [a,a,b,b].
/// Throws: ShapeError; ValueError for repeats < 1 or more than 2^20 entries.
Variable repeat(const Variable& x, int64_t repeats, int axis);
/// Repeats x as a whole along each axis, [a,b] -> [a,b,a,b].
/// Throws: as repeat(); ShapeError unless there is a number for each axis.
Variable tile(const Variable& x, const std::vector<int64_t>& repeats);
/// Rotates entries along an axis: [a,b,c] -> [c,a,b] for a shift of 1.
/// Throws: ShapeError.
Variable roll(const Variable& x, int64_t shift, int axis);

/// Pads each axis with `value` (mode "constant"), or with entries of the axis:
/// "edge" repeats the border, "reflect" mirrors without it, "symmetric" mirrors
/// with it, "wrap" continues at the other end. `pad_width` has an entry for
/// each axis. Throws: ShapeError for other numbers, or an axis that is too
/// small for its mode; ValueError for an unknown mode or negative widths.
/// Source: numpy.pad.
Variable pad(const Variable& x, const std::vector<Ends>& pad_width,
             const std::string& mode = "constant", float value = 0);
/// Returns the entries of an axis of size `size` that pad() copies.
std::vector<int64_t> padded_entries(int64_t size, const Ends& ends,
                                    const std::string& mode);

}  // namespace octet
