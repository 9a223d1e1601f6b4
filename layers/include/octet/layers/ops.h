// Functions on symbolic tensors, named as in keras.ops and NumPy:
//
//   SymbolicTensor gate = sigmoid(mean(x, {1, 2}, Keepdims::yes));
//   SymbolicTensor y = concatenate({x * gate, abs(x)}, -1);
//
// Each call adds one layer with a generated name; to name a layer or to reuse
// it, call the layer class instead: Reduce({.operation = "mean", ...})(x).
// Axis 0 is the batch, which functions neither reduce nor move; negative axes
// count from the end. Errors are those of the layers, and ShapeError or
// ValueError for invalid axes, shapes, indices and counts.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include <octet/layers/graph.h>
#include <octet/runtime/ops/arithmetic.h>
#include <octet/runtime/ops/nn.h>

namespace octet {

// Operators on symbolic tensors: `x + y` is `Add()({x, y})`, `0.5 * x - 1` a
// Rescaling. Shapes broadcast as in these layers. Division by a number
// multiplies by its reciprocal. For x[:, 0] see SymbolicTensor::index().
//
// Compilers differ in which operand of `a(x) - b(x)` they evaluate first, and
// the names and initial weights of unnamed layers depend on creation order:
// name the layers, or create them first, `auto y = a(x); auto z = b(x); y - z`.

/// Elementwise sum, difference and product (Add, Subtract, Multiply).
SymbolicTensor operator+(const SymbolicTensor& x, const SymbolicTensor& y);
SymbolicTensor operator-(const SymbolicTensor& x, const SymbolicTensor& y);
SymbolicTensor operator*(const SymbolicTensor& x, const SymbolicTensor& y);

/// Arithmetic with a constant, rounded to float (Rescaling).
/// Throws: ValueError for a factor of 0 or a constant that is not finite.
SymbolicTensor operator+(const SymbolicTensor& x, double y);
SymbolicTensor operator+(double x, const SymbolicTensor& y);
SymbolicTensor operator-(const SymbolicTensor& x, double y);
SymbolicTensor operator-(double x, const SymbolicTensor& y);
SymbolicTensor operator*(const SymbolicTensor& x, double y);
SymbolicTensor operator*(double x, const SymbolicTensor& y);
SymbolicTensor operator-(const SymbolicTensor& x);
/// Divides by a constant: multiplies by its reciprocal, rounded to float.
/// Throws: ValueError for 0 or a reciprocal that float rounds to 0 or infinity.
SymbolicTensor operator/(const SymbolicTensor& x, double y);

/// Reductions over axes of each sample (Reduce). A mean or maximum over exactly
/// the pixels of an image [n,h,w,c] or the steps of a sequence [n,l,c] is a
/// global pooling layer, which TensorRT runs in INT8.
SymbolicTensor mean(const SymbolicTensor& x, const std::vector<int64_t>& axes,
                    Keepdims keepdims = Keepdims::no);
SymbolicTensor max(const SymbolicTensor& x, const std::vector<int64_t>& axes,
                   Keepdims keepdims = Keepdims::no);
SymbolicTensor min(const SymbolicTensor& x, const std::vector<int64_t>& axes,
                   Keepdims keepdims = Keepdims::no);
SymbolicTensor sum(const SymbolicTensor& x, const std::vector<int64_t>& axes,
                   Keepdims keepdims = Keepdims::no);
SymbolicTensor prod(const SymbolicTensor& x, const std::vector<int64_t>& axes,
                    Keepdims keepdims = Keepdims::no);
/// Indices of the largest and the smallest entries along an axis, the first of
/// equal ones (Reduce), as float32. Their gradient is zero.
SymbolicTensor argmax(const SymbolicTensor& x, int64_t axis = -1,
                      Keepdims keepdims = Keepdims::no);
SymbolicTensor argmin(const SymbolicTensor& x, int64_t axis = -1,
                      Keepdims keepdims = Keepdims::no);
/// log(sum(exp(x))), without overflow.
SymbolicTensor logsumexp(const SymbolicTensor& x,
                         const std::vector<int64_t>& axes,
                         Keepdims keepdims = Keepdims::no);

/// Permutes axes: axis i of the result is axis axes[i] of x; axes[0] is 0
/// (Permute).
SymbolicTensor transpose(const SymbolicTensor& x,
                         const std::vector<int64_t>& axes);
/// Moves an axis to position `destination`; the others keep their order
/// (Permute).
SymbolicTensor moveaxis(const SymbolicTensor& x, int64_t source,
                        int64_t destination);
SymbolicTensor swapaxes(const SymbolicTensor& x, int64_t axis1, int64_t axis2);
/// Changes the shape of each sample (Reshape). `shape` is that of the batch: it
/// begins with -1; one further -1 is inferred.
SymbolicTensor reshape(const SymbolicTensor& x,
                       const std::vector<int64_t>& shape);
/// Removes axes of size 1 (Reshape).
SymbolicTensor squeeze(const SymbolicTensor& x,
                       const std::vector<int64_t>& axes);
/// Inserts an axis of size 1 as axis `axis` of the result (Reshape).
SymbolicTensor expand_dims(const SymbolicTensor& x, int64_t axis);
/// Merges all axes of each sample (Flatten).
SymbolicTensor flatten(const SymbolicTensor& x);

/// Moves blocks of channels to blocks of pixels, as tf.nn.depth_to_space:
/// [n,h,w,b*b*c] -> [n,b*h,b*w,c]; space_to_depth() is the inverse.
/// Throws: ShapeError for inputs other than images or sizes that a block does
/// not divide.
SymbolicTensor depth_to_space(const SymbolicTensor& x, int64_t block_size);
SymbolicTensor space_to_depth(const SymbolicTensor& x, int64_t block_size);

/// Joins tensors along an existing axis (Concatenate); stack() along a new
/// axis.
SymbolicTensor concatenate(std::vector<SymbolicTensor> inputs,
                           int64_t axis = -1);
SymbolicTensor stack(const std::vector<SymbolicTensor>& inputs,
                     int64_t axis = -1);
/// Splits an axis into `sections` equal parts, or in front of each index
/// (GetItem).
std::vector<SymbolicTensor> split(const SymbolicTensor& x, int64_t sections,
                                  int64_t axis = -1);
std::vector<SymbolicTensor> split(const SymbolicTensor& x,
                                  const std::vector<int64_t>& indices,
                                  int64_t axis = -1);
/// A list in braces contains indices: split(x, {3}) returns two parts.
std::vector<SymbolicTensor> split(const SymbolicTensor& x,
                                  std::initializer_list<int64_t> indices,
                                  int64_t axis = -1);
/// Selects entries of an axis by index, in that order (Gather).
SymbolicTensor take(const SymbolicTensor& x, std::vector<int64_t> indices,
                    int64_t axis = -1);
/// Reverses an axis (GetItem).
SymbolicTensor flip(const SymbolicTensor& x, int64_t axis);
/// Repeats each entry of an axis `repeats` times, [a,b] -> [a,a,b,b] (Gather).
SymbolicTensor repeat(const SymbolicTensor& x, int64_t repeats, int64_t axis);
/// Repeats x as a whole along each axis, [a,b] -> [a,b,a,b] (Gather). `repeats`
/// has an entry for each axis, 1 for the batch.
SymbolicTensor tile(const SymbolicTensor& x,
                    const std::vector<int64_t>& repeats);
/// Rotates entries along an axis: [a,b,c] -> [c,a,b] for a shift of 1 (Gather).
SymbolicTensor roll(const SymbolicTensor& x, int64_t shift, int64_t axis);
/// Selects shape[i] entries of each axis i, beginning with start[i]; -1 selects
/// all remaining entries (GetItem). start[0] is 0 and shape[0] -1: the batch.
SymbolicTensor slice(const SymbolicTensor& x, const std::vector<int64_t>& start,
                     const std::vector<int64_t>& shape);
/// Pads each axis (ZeroPadding1D and ZeroPadding2D for zeros around the pixels
/// of an image or the steps of a sequence, otherwise Pad, which lists the
/// modes). `pad_width` has an entry for each axis, {} for the batch.
SymbolicTensor pad(const SymbolicTensor& x, const std::vector<Ends>& pad_width,
                   const std::string& mode = "constant", float value = 0);

/// Elementwise functions of one tensor (Unary, Activation, ReLU, ELU,
/// LeakyReLU). Parameters and defaults are those of keras.ops.
SymbolicTensor abs(const SymbolicTensor& x);
SymbolicTensor ceil(const SymbolicTensor& x);
SymbolicTensor celu(const SymbolicTensor& x);
SymbolicTensor cos(const SymbolicTensor& x);
SymbolicTensor elu(const SymbolicTensor& x, float alpha = 1);
SymbolicTensor erf(const SymbolicTensor& x);
SymbolicTensor exp(const SymbolicTensor& x);
SymbolicTensor floor(const SymbolicTensor& x);
/// 0.5 * x * (1 + erf(x / sqrt(2))), or its approximation by tanh.
SymbolicTensor gelu(const SymbolicTensor& x, bool approximate = true);
/// relu6(x + 3) / 6.
SymbolicTensor hard_sigmoid(const SymbolicTensor& x);
/// x * hard_sigmoid(x).
SymbolicTensor hard_silu(const SymbolicTensor& x);
SymbolicTensor leaky_relu(const SymbolicTensor& x, float negative_slope = 0.2f);
SymbolicTensor log(const SymbolicTensor& x);
SymbolicTensor log_sigmoid(const SymbolicTensor& x);
SymbolicTensor mish(const SymbolicTensor& x);
SymbolicTensor negative(const SymbolicTensor& x);
inline SymbolicTensor neg(const SymbolicTensor& x) { return negative(x); }
SymbolicTensor reciprocal(const SymbolicTensor& x);
SymbolicTensor relu(const SymbolicTensor& x);
SymbolicTensor relu6(const SymbolicTensor& x);
/// Rounds to the nearest integer, ties to even.
SymbolicTensor round(const SymbolicTensor& x);
/// 1 / sqrt(x).
SymbolicTensor rsqrt(const SymbolicTensor& x);
SymbolicTensor selu(const SymbolicTensor& x);
SymbolicTensor sigmoid(const SymbolicTensor& x);
SymbolicTensor sign(const SymbolicTensor& x);
/// x * sigmoid(x).
SymbolicTensor silu(const SymbolicTensor& x);
SymbolicTensor sin(const SymbolicTensor& x);
SymbolicTensor softplus(const SymbolicTensor& x);
SymbolicTensor softsign(const SymbolicTensor& x);
SymbolicTensor sqrt(const SymbolicTensor& x);
SymbolicTensor square(const SymbolicTensor& x);
SymbolicTensor tanh(const SymbolicTensor& x);

/// Raises x to a constant power; squares, square roots and reciprocals are
/// Unary, other exponents Power.
SymbolicTensor power(const SymbolicTensor& x, float exponent);
inline SymbolicTensor pow(const SymbolicTensor& x, float exponent) {
  return power(x, exponent);
}
/// Limits x to [min, max]; each bound is optional (ReLU for min = 0, otherwise
/// ClipByValue).
SymbolicTensor clip(const SymbolicTensor& x, std::optional<float> min,
                    std::optional<float> max);
/// x * scale + offset. `scale` and `offset` have a single number, or one for
/// each entry of the last axis (Rescaling).
SymbolicTensor affine(const SymbolicTensor& x, std::vector<float> scale,
                      std::vector<float> offset);

/// Softmax along an axis, and its logarithm (Softmax, Activation).
SymbolicTensor softmax(const SymbolicTensor& x, int64_t axis = -1);
SymbolicTensor log_softmax(const SymbolicTensor& x, int64_t axis = -1);
/// Divides by the Euclidean norm over axes, or by epsilon if that is larger
/// (UnitNormalization).
SymbolicTensor normalize(const SymbolicTensor& x, std::vector<int64_t> axes,
                         float epsilon = 1e-12f);

/// Elementwise functions of two tensors with broadcasting (Add, Subtract,
/// Multiply, Divide, Maximum, Minimum). The operators +, - and * are
/// equivalent.
SymbolicTensor add(const SymbolicTensor& x, const SymbolicTensor& y);
SymbolicTensor subtract(const SymbolicTensor& x, const SymbolicTensor& y);
SymbolicTensor multiply(const SymbolicTensor& x, const SymbolicTensor& y);
SymbolicTensor divide(const SymbolicTensor& x, const SymbolicTensor& y);
SymbolicTensor maximum(const SymbolicTensor& x, const SymbolicTensor& y);
SymbolicTensor minimum(const SymbolicTensor& x, const SymbolicTensor& y);

/// Comparisons, elementwise: 1 if true, otherwise 0 (Compare).
SymbolicTensor equal(const SymbolicTensor& x, const SymbolicTensor& y);
SymbolicTensor equal(const SymbolicTensor& x, float y);
SymbolicTensor greater(const SymbolicTensor& x, const SymbolicTensor& y);
SymbolicTensor greater(const SymbolicTensor& x, float y);
SymbolicTensor greater_equal(const SymbolicTensor& x, const SymbolicTensor& y);
SymbolicTensor greater_equal(const SymbolicTensor& x, float y);
SymbolicTensor less(const SymbolicTensor& x, const SymbolicTensor& y);
SymbolicTensor less(const SymbolicTensor& x, float y);
SymbolicTensor less_equal(const SymbolicTensor& x, const SymbolicTensor& y);
SymbolicTensor less_equal(const SymbolicTensor& x, float y);
SymbolicTensor not_equal(const SymbolicTensor& x, const SymbolicTensor& y);
SymbolicTensor not_equal(const SymbolicTensor& x, float y);
/// Logical functions of comparison results, 1 or 0 (Multiply, Maximum,
/// Rescaling, Compare).
SymbolicTensor logical_and(const SymbolicTensor& x, const SymbolicTensor& y);
SymbolicTensor logical_or(const SymbolicTensor& x, const SymbolicTensor& y);
SymbolicTensor logical_not(const SymbolicTensor& x);
SymbolicTensor logical_xor(const SymbolicTensor& x, const SymbolicTensor& y);
/// Selects x for nonzero entries of `condition`, otherwise y (Where).
SymbolicTensor where(const SymbolicTensor& condition, const SymbolicTensor& x,
                     const SymbolicTensor& y);
/// Multiplies matrices: [n,...,m,k] times [n,...,k,l], each transposed on
/// request (Matmul). Other products: einsum().
SymbolicTensor matmul(const SymbolicTensor& a, const SymbolicTensor& b,
                      const MatmulOptions& options = {});

/// Computes the equation by a matrix product, or by Multiply if nothing is
/// summed: `einsum("nqhd,nkhd->nhqk", query, key)`. The first axis of all is
/// the batch. Throws: as parse_einsum(); ShapeError for sizes that differ.
SymbolicTensor einsum(std::string_view equation, const SymbolicTensor& a,
                      const SymbolicTensor& b);

}  // namespace octet
