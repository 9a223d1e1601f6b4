// Where a value of a program is in memory.
#pragma once

#include <cstdint>

#include <octet/runtime/ops/window.h>
#include <octet/runtime/shape.h>

#include "../kernels/kernels.h"

namespace octet::inference {

/// A value in memory, image after image. A tensor is one by itself, unpadded;
/// all others share one block, in which those that are never needed at the
/// same time may lie in the same place. Its sizes are those of what is stored.
struct Storage {
  int value = -1;
  kernels::Stored form = kernels::Stored::values;
  Pads pads{};
  bool tensor = false;
  int zero_byte = 128;  // of code 0, where codes are bytes
  bool int8 = true;     // the grid fits, else in uint8

  Shape shape;        // [1, ...]
  Size2 every{1, 1};  // only each so many pixels are stored
  int64_t h = 0, w = 0, c = 0;
  int64_t element = 0;                   // bytes
  int64_t pixel = 0, row = 0, size = 0;  // elements; size: of an image
  int64_t offset = 0;                    // bytes a sample, in the block
  int first = -1, last = -1;             // steps

  bool padded() const { return pads != Pads{}; }
  bool skips() const { return every != Size2{1, 1}; }
  int64_t bytes() const { return size * element; }

  /// Finds the sizes, of pixels without room between them.
  void lay_out();
  /// Moves pixels of floats a cache line further where they lie a multiple of
  /// 2 KiB apart: neighbours would share few sets of the first-level cache.
  /// Only fused steps write such pixels.
  void spread();

 private:
  void set_pixel(int64_t elements);
};

}  // namespace octet::inference
