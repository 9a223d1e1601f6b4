// Entries of axes that a node chooses, as Gather layers. Internal to
// io/onnx/import.
#pragma once

#include <vector>

#include "importer.h"

namespace octet::io::importing {

struct AxisIndices {
  int axis = 0;  ///< of ONNX, not that of the samples
  Sizes indices;
};

/// The first input with these entries of its axes.
View gathered(Conversion& c, const std::vector<AxisIndices>& chosen);

/// The first input with each axis repeated so many times.
void repeat(Conversion& c, const Sizes& times);

}  // namespace octet::io::importing
