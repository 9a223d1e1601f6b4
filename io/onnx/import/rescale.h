// Affine transformation by constants. Internal to io/onnx/import.
#pragma once

#include "importer.h"

namespace octet::io::importing {

/// x * scale + offset; the constants broadcast.
struct Affine {
  Tensor scale;
  Tensor offset;
};

/// Applies constants of the file to an input: numbers for the whole input or
/// for each entry of an axis; offsets also for each value of a sample.
void rescale(Conversion& c, int input, const Affine& affine);

}  // namespace octet::io::importing
