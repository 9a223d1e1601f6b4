#include "graph.h"

#include <utility>

namespace octet::inference {

int Graph::after(int value) const {
  const Value& v = at(values, value);
  return v.pointwise < 0 ? v.call : at(pointwise, v.pointwise).after;
}

int Graph::plain(int value) {
  for (size_t i = 0; i < pointwise.size(); ++i) {
    const Pointwise& p = pointwise[i];
    if (p.first == value && p.plain()) return static_cast<int>(i);
  }
  const Value& v = at(values, value);
  Pointwise p;
  p.e.shape = v.shape;
  p.first = value;
  p.after = after(value);
  p.fusable = v.sums;
  if (v.sums) p.sums = value;
  pointwise.push_back(std::move(p));
  return static_cast<int>(pointwise.size()) - 1;
}

int Graph::evaluation(int pointwise_of, const Shape& shape, const Grid& grid) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].pointwise == pointwise_of &&
        same_grid(values[i].grid, grid)) {
      return static_cast<int>(i);
    }
  }
  values.push_back({.shape = shape, .pointwise = pointwise_of, .grid = grid});
  return static_cast<int>(values.size()) - 1;
}

}  // namespace octet::inference
