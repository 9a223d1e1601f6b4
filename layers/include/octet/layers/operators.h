// Arithmetic in symbols while a graph is built: `x + y` is `Add()({x, y})`,
// `0.5 * x - 1` a Rescaling. Tensors broadcast as those layers say. Numbers are
// divided by as products with their reciprocal.
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
