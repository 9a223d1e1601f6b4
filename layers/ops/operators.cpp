#include <fmt/format.h>

#include <octet/layers/merging.h>
#include <octet/layers/ops.h>
#include <octet/layers/preprocessing.h>
#include <octet/runtime/error.h>

namespace octet {

static SymbolicTensor rescaled(const SymbolicTensor& x, double scale,
                               double offset) {
  return Rescaling({.scale = {static_cast<float>(scale)},
                    .offset = {static_cast<float>(offset)}})(x);
}

SymbolicTensor operator+(const SymbolicTensor& x, const SymbolicTensor& y) {
  return Add()({x, y});
}
SymbolicTensor operator-(const SymbolicTensor& x, const SymbolicTensor& y) {
  return Subtract()({x, y});
}
SymbolicTensor operator*(const SymbolicTensor& x, const SymbolicTensor& y) {
  return Multiply()({x, y});
}

SymbolicTensor operator+(const SymbolicTensor& x, double y) {
  return rescaled(x, 1, y);
}
SymbolicTensor operator+(double x, const SymbolicTensor& y) {
  return rescaled(y, 1, x);
}
SymbolicTensor operator-(const SymbolicTensor& x, double y) {
  return rescaled(x, 1, -y);
}
SymbolicTensor operator-(double x, const SymbolicTensor& y) {
  return rescaled(y, -1, x);
}
SymbolicTensor operator*(const SymbolicTensor& x, double y) {
  return rescaled(x, y, 0);
}
SymbolicTensor operator*(double x, const SymbolicTensor& y) {
  return rescaled(y, x, 0);
}
SymbolicTensor operator-(const SymbolicTensor& x) { return rescaled(x, -1, 0); }

SymbolicTensor operator/(const SymbolicTensor& x, double y) {
  if (y == 0) {
    throw ValueError("out_of_range", "operator/", "division by 0");
  }
  return rescaled(x, 1 / y, 0);
}

}  // namespace octet
