// Operators on symbolic tensors: `x + y` is `Add()({x, y})`, `0.5 * x - 1` a
// Rescaling. Shapes broadcast as in these layers. Division by a number
// multiplies by its reciprocal. For x[:, 0] see SymbolicTensor::index().
//
// Compilers differ in which operand of `a(x) - b(x)` they evaluate first, and
// the names and initial weights of unnamed layers depend on creation order:
// name the layers, or create them first, `auto y = a(x); auto z = b(x); y - z`.
#pragma once

#include <octet/layers/graph.h>

namespace octet {

SymbolicTensor operator+(const SymbolicTensor& x, const SymbolicTensor& y);
SymbolicTensor operator-(const SymbolicTensor& x, const SymbolicTensor& y);
SymbolicTensor operator*(const SymbolicTensor& x, const SymbolicTensor& y);

SymbolicTensor operator+(const SymbolicTensor& x, double y);
SymbolicTensor operator+(double x, const SymbolicTensor& y);
SymbolicTensor operator-(const SymbolicTensor& x, double y);
SymbolicTensor operator-(double x, const SymbolicTensor& y);
SymbolicTensor operator*(const SymbolicTensor& x, double y);
SymbolicTensor operator*(double x, const SymbolicTensor& y);
SymbolicTensor operator-(const SymbolicTensor& x);
/// Divides by a constant.
/// Throws: ValueError for 0.
SymbolicTensor operator/(const SymbolicTensor& x, double y);

}  // namespace octet
