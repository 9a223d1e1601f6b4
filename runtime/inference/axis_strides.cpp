#include "axis_strides.h"

#include <algorithm>
#include <utility>

namespace octet::inference {

void AxisStrides::transpose(const std::vector<int>& axes) {
  const AxisStrides before = *this;
  for (size_t k = 0; k < axes.size(); ++k) {
    dims[k] = before.dims[static_cast<size_t>(axes[k])];
    strides[k] = before.strides[static_cast<size_t>(axes[k])];
  }
}

void AxisStrides::transpose_matrices() {
  std::swap(dims[rank() - 1], dims[rank() - 2]);
  std::swap(strides[rank() - 1], strides[rank() - 2]);
}

// From the last axis on: an axis of the new shape lies within a run of old axes
// that are contiguous to each other.
bool AxisStrides::reshape(const Shape& shape) {
  std::vector<int64_t> result(static_cast<size_t>(shape.rank()));
  size_t old = rank();
  int64_t left = 1;  // values of the current old axes that no new axis covers
  int64_t stride = 0;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    const int64_t dim = shape[axis];
    if (dim == 1) continue;
    int64_t covered = 1;
    while (covered < dim) {
      if (left == 1) {
        while (old > 0 && dims[old - 1] == 1) --old;
        if (old == 0) return false;
        --old;
        if (covered > 1 && strides[old] != stride) return false;
        stride = strides[old];
        left = dims[old];
      }
      const int64_t part = std::min(left, dim / covered);
      if (left % part != 0 || dim % (covered * part) != 0) return false;
      if (covered == 1) result[static_cast<size_t>(axis)] = stride;
      covered *= part;
      left /= part;
      stride *= part;
    }
  }
  dims.assign(shape.dims().begin(), shape.dims().end());
  strides = std::move(result);
  return true;
}

AxisStrides strides_of(const Trace& trace, uint64_t id) {
  const TraceNode& node = trace.node(id);
  const Shape& shape = node.shape;
  AxisStrides s{id,
                {shape.dims().begin(), shape.dims().end()},
                std::vector<int64_t>(static_cast<size_t>(shape.rank())),
                node.constant() == nullptr ? shape.size() : 0};
  int64_t stride = 1;
  for (size_t axis = s.rank(); axis-- > 0;) {
    s.strides[axis] = s.dims[axis] == 1 ? 0 : stride;
    stride *= s.dims[axis];
  }
  return s;
}

AxisStrides view_of(const Trace& trace, uint64_t id) {
  std::vector<const TraceNode*> path;
  for (;;) {
    const TraceNode& node = trace.node(id);
    const bool view = std::holds_alternative<AxisOrder>(node.attributes) ||
                      node.op == "reshape";
    if (!view || node.constant() != nullptr) break;
    path.push_back(&node);
    id = node.inputs[0];
  }
  AxisStrides s = strides_of(trace, id);
  for (; !path.empty(); path.pop_back()) {
    const TraceNode& node = *path.back();
    if (const auto* order = std::get_if<AxisOrder>(&node.attributes)) {
      s.transpose(order->axes);
    } else if (!s.reshape(node.shape)) {
      s = strides_of(trace, node.id);
    }
  }
  return s;
}

}  // namespace octet::inference
