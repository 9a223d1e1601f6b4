#include <algorithm>

#include "reference.h"

namespace octet::reference {
namespace {

// Offset in `a` of the operand of element `at` of `shape`.
int64_t offset_in(const Array& a, const Shape& shape, int64_t at) {
  int64_t offset = 0;
  int64_t step = 1;
  for (int axis = 1; axis <= shape.rank(); ++axis) {
    const int64_t index = at % shape[-axis];
    at /= shape[-axis];
    if (axis > a.shape.rank()) continue;
    offset += a.shape[-axis] == 1 ? 0 : index * step;
    step *= a.shape[-axis];
  }
  return offset;
}

}  // namespace

Array combine(const Array& x, const Array& y,
              const std::function<double(double, double)>& f) {
  const Shape& longer = x.shape.rank() >= y.shape.rank() ? x.shape : y.shape;
  const Shape& shorter = x.shape.rank() >= y.shape.rank() ? y.shape : x.shape;
  Shape shape = longer;
  for (int axis = 1; axis <= shorter.rank(); ++axis) {
    if (longer[-axis] == 1) shape = shape.with(-axis, shorter[-axis]);
  }
  Array z(shape);
  for (int64_t i = 0; i < z.size(); ++i) {
    z[i] = f(x[offset_in(x, shape, i)], y[offset_in(y, shape, i)]);
  }
  return z;
}

Array map(const Array& x, const std::function<double(double)>& f) {
  Array y = x;
  for (double& v : y.values) v = f(v);
  return y;
}

}  // namespace octet::reference
