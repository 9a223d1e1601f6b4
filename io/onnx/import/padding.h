// Padding and cropping of images and sequences. Internal to io/onnx/import.
#pragma once

#include "importer.h"

namespace octet::io::importing {

/// Padding at the ends of each ONNX axis; negative values crop.
struct AxisEnds {
  Sizes begin;
  Sizes end;
};

/// Pads the first input with `border` or crops it. Returns false unless the
/// change is limited to spatial axes and either pads or crops.
bool pad_or_crop(Conversion& c, const AxisEnds& ends, float border = 0);

}  // namespace octet::io::importing
