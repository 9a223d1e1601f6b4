#include "graph.h"

#include <functional>
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

std::vector<bool> Graph::read_calls() const {
  std::vector<bool> read(values.size());
  const std::function<void(int)> mark = [&](int value) {
    if (read[static_cast<size_t>(value)]) return;
    read[static_cast<size_t>(value)] = true;
    const int i = at(values, value).pointwise;
    if (i < 0) return;
    const Pointwise& p = at(pointwise, i);
    mark(p.first);
    if (p.second >= 0) mark(p.second);
    if (p.multiplier >= 0) mark(p.multiplier);
  };
  for (const int output : outputs) mark(output);
  std::vector<bool> result(calls.size());
  for (size_t i = calls.size(); i-- > 0;) {
    result[i] = read[static_cast<size_t>(calls[i].output)];
    if (!result[i]) continue;
    for (const int input : calls[i].inputs) mark(input);
  }
  return result;
}

}  // namespace octet::inference
