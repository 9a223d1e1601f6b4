// Arithmetic in symbols while a graph is built: `x + y` is `Add()({x, y})`,
// `0.5 * x - 1` a Rescaling. Compilers differ in which side of `a(x) - b(x)`
// they evaluate first, and unnamed layers are named, and get their first
// weights, in the order of their making: make them before, `auto y = a(x); auto
// z = b(x); y - z`, or name them. Tensors broadcast as those layers say.
// Numbers are divided by as products with their reciprocal. For x[:, 0] see
// SymbolicTensor::index().
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
/// Throws: ValueError for 0.
SymbolicTensor operator/(const SymbolicTensor& x, double y);

}  // namespace octet
