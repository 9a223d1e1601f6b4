// Views of values in a trace: the same memory under other axes.
#pragma once

#include <cstdint>
#include <vector>

#include "trace.h"

namespace octet::inference {

/// Strides along the axes of a view; 0 along axes of size 1.
struct AxisStrides {
  uint64_t id;  // value in the trace
  std::vector<int64_t> dims, strides;
  int64_t sample;  // between samples; 0: the same for all

  size_t rank() const { return dims.size(); }
  /// Makes axis `axes[k]` axis k.
  void transpose(const std::vector<int>& axes);
  /// Exchanges the last two axes.
  void transpose_matrices();
  /// Changes the dimensions. Returns false, without effect, if no view has
  /// them.
  bool reshape(const Shape& shape);
};

/// Returns the strides of a value itself.
AxisStrides strides_of(const Trace& trace, uint64_t id);

/// Returns a value as a view of the value that it transposes and reshapes.
AxisStrides view_of(const Trace& trace, uint64_t id);

}  // namespace octet::inference
