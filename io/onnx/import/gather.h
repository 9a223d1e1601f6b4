// Selection of entries along axes by Gather layers. Internal to io/onnx/import.
#pragma once

#include <vector>

#include "importer.h"

namespace octet::io::importing {

struct AxisIndices {
  int axis = 0;  ///< ONNX axis other than the batch
  Sizes indices;
};

/// Selects entries of the first input along several axes.
ImportedValue gathered(Conversion& c, const std::vector<AxisIndices>& chosen);

/// Repeats each axis of the first input `times` times.
void repeat(Conversion& c, const Sizes& times);

}  // namespace octet::io::importing
