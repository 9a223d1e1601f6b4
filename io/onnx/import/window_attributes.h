// The window of a convolution or pooling node. Internal to io/onnx/import.
#pragma once

#include <octet/layers/convolution.h>

#include "importer.h"

namespace octet::io::importing {

/// One or two numbers each, for the axes of [l] or [h,w].
struct WindowAttributes {
  Sizes size;
  Sizes strides;
  Sizes dilations;
  Sizes begin;  ///< padding
  Sizes end;

  bool dilated() const;
  Size2 over(const Sizes& list) const { return {list[0], list[1]}; }
  Padding padding(const Shape& image) const;
  Padding1D padding_of_sequence(const Shape& sequence) const;
};

/// Returns the window of a node with input `x`, [n,h,w,c] or [n,l,c], and a
/// kernel of `size`, with automatic padding resolved. Ceil mode of pooling
/// becomes padding at the end.
/// Throws: UnsupportedError for lists of another length.
WindowAttributes window_of(const Conversion& c, const Shape& x,
                           const Sizes& size);

/// Returns an image or sequence as [n,h,w,c] or [n,l,c].
/// Throws: UnsupportedError for other ranks.
Operand pixels_of(Conversion& c, int input);
/// Returns the channels-first value of a channels-last layer output.
ImportedValue channels_first(const SymbolicTensor& y);

}  // namespace octet::io::importing
