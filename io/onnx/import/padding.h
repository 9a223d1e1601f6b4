// Zeros around images and sequences, and what is cut off. Internal to
// io/onnx/import.
#pragma once

#include "importer.h"

namespace octet::io::importing {

/// What is added at the ends of each ONNX axis or, below 0, cut off.
struct AxisEnds {
  Sizes begin;
  Sizes end;
};

/// Converts a node that does that to its first input. False where other axes
/// than those of pixels are changed, or pixels come and go at once. What is
/// added is `border`.
bool pad_or_crop(Conversion& c, const AxisEnds& ends, float border = 0);

}  // namespace octet::io::importing
