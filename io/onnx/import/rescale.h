// A value times and plus constants. Internal to io/onnx/import.
#pragma once

#include "importer.h"

namespace octet::io::importing {

/// x * scale + offset, constants that broadcast.
struct Affine {
  Tensor scale;
  Tensor offset;
};

/// Numbers of the file for every value of that input, one for each entry of an
/// axis, or, to add, for each value of a sample.
void rescale(Conversion& c, int input, const Affine& affine);

}  // namespace octet::io::importing
