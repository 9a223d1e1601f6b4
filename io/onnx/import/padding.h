// Padding and cropping of images and sequences. Internal to io/onnx/import.
#pragma once

#include "importer.h"

namespace octet::io::importing {

/// Padding at the ends of each ONNX axis; negative values crop.
struct AxisEnds {
  Sizes begin;
  Sizes end;
};

/// Pads the spatial axes of the first input with `border`, or crops them.
/// Returns false, without adding layers, if other axes change or if some ends
/// are padded and others cropped.
bool pad_or_crop(Conversion& c, const AxisEnds& ends, float border = 0);

}  // namespace octet::io::importing
