// The window of a convolution or pooling node. Internal to io/onnx/import.
#pragma once

#include <octet/layers/padding.h>

#include "importer.h"

namespace octet::io::importing {

/// One or two numbers each, in the order of the axes of [h,w] or [l].
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

/// Of a node that reads `x`, [n,h,w,c] or [n,l,c], with a kernel of `size`;
/// automatic padding in numbers. Pooling that rounds its sizes up gets its last
/// windows by more padding at the end.
/// Throws: UnsupportedError for lists of another length.
WindowAttributes window_of(const Conversion& c, const Shape& x,
                           const Sizes& size);

/// [n,h,w,c] or [n,l,c] of what `input` is, an image or a sequence.
/// Throws: UnsupportedError for other ranks.
Operand pixels_of(Conversion& c, int input);
/// The value of an operator with its channels first that a layer made with its
/// channels last.
View channels_first(const SymbolicTensor& y);

}  // namespace octet::io::importing
