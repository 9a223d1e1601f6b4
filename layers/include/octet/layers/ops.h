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
#include <vector>

#include <octet/layers/graph.h>
#include <octet/layers/operators.h>
#include <octet/runtime/ops/reduction.h>

namespace octet {

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

/// Permutes axes: axis i of the result is axis axes[i] of x; axes[0] is 0
/// (Permute).
SymbolicTensor transpose(const SymbolicTensor& x,
                         const std::vector<int64_t>& axes);
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

/// Joins tensors along an existing axis (Concatenate); stack() along a new
/// axis.
SymbolicTensor concatenate(std::vector<SymbolicTensor> inputs,
                           int64_t axis = -1);
SymbolicTensor stack(const std::vector<SymbolicTensor>& inputs,
                     int64_t axis = -1);
/// Splits an axis into `sections` equal parts, or before the given indices
/// (GetItem).
std::vector<SymbolicTensor> split(const SymbolicTensor& x, int64_t sections,
                                  int64_t axis = -1);
std::vector<SymbolicTensor> split(const SymbolicTensor& x,
                                  const std::vector<int64_t>& indices,
                                  int64_t axis = -1);
/// A list in braces has indices: split(x, {3}) has two parts.
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

/// Elementwise functions of one tensor (Unary, Activation, Power, ClipByValue),
/// and softmax over an axis (Softmax).
SymbolicTensor abs(const SymbolicTensor& x);
SymbolicTensor ceil(const SymbolicTensor& x);
SymbolicTensor cos(const SymbolicTensor& x);
SymbolicTensor erf(const SymbolicTensor& x);
SymbolicTensor exp(const SymbolicTensor& x);
SymbolicTensor floor(const SymbolicTensor& x);
SymbolicTensor log(const SymbolicTensor& x);
SymbolicTensor power(const SymbolicTensor& x, float exponent);
SymbolicTensor reciprocal(const SymbolicTensor& x);
SymbolicTensor relu(const SymbolicTensor& x);
/// Rounds to the nearest integer, ties to even.
SymbolicTensor round(const SymbolicTensor& x);
SymbolicTensor sigmoid(const SymbolicTensor& x);
SymbolicTensor sign(const SymbolicTensor& x);
SymbolicTensor sin(const SymbolicTensor& x);
SymbolicTensor softmax(const SymbolicTensor& x, int64_t axis = -1);
SymbolicTensor sqrt(const SymbolicTensor& x);
SymbolicTensor square(const SymbolicTensor& x);
SymbolicTensor tanh(const SymbolicTensor& x);
/// Limits x to [min, max]; each bound is optional.
SymbolicTensor clip(const SymbolicTensor& x, std::optional<float> min,
                    std::optional<float> max);

/// Elementwise functions of two tensors with broadcasting (Maximum, Minimum,
/// Divide). operators.h declares +, - and *.
SymbolicTensor maximum(const SymbolicTensor& x, const SymbolicTensor& y);
SymbolicTensor minimum(const SymbolicTensor& x, const SymbolicTensor& y);
SymbolicTensor divide(const SymbolicTensor& x, const SymbolicTensor& y);
/// Selects x for nonzero entries of `condition`, otherwise y (Where).
SymbolicTensor where(const SymbolicTensor& condition, const SymbolicTensor& x,
                     const SymbolicTensor& y);
/// Multiplies matrices: [n,...,m,k] times [n,...,k,l] (Matmul).
SymbolicTensor matmul(const SymbolicTensor& a, const SymbolicTensor& b);

}  // namespace octet
