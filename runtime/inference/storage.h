// Memory layout of a program's values.
#pragma once

#include <cstdint>
#include <span>

#include <octet/runtime/ops/nn.h>
#include <octet/runtime/quantization.h>
#include <octet/runtime/tensor.h>

#include "kernels/kernels.h"

namespace octet::inference {

/// A buffer of contiguous images, part of one block. Buffers may share memory
/// if their lifetimes do not overlap. Tensors are unpadded; inputs and outputs
/// of the program and of called layers are `external`, outside of the block.
/// Sizes refer to the stored pixels.
struct Storage {
  int value = -1;
  kernels::StorageFormat form = kernels::StorageFormat::values;
  Pads pads{};
  bool tensor = false;
  bool external = false;
  int alias = -1;            // storage that it reshapes, or -1
  int slice_of = -1;         // storage that contains it as some channels, or -1
  int64_t channel = 0;       // the first of them
  Tensor constant = {};      // if not computed
  bool lasting = false;      // the same in every run, computed once
  int zero_byte = 128;       // byte that stores q = 0
  bool int8 = true;          // values fit int8, otherwise uint8
  QuantParams qparams = {};  // of the value

  Shape shape;        // [1, ...]
  Size2 every{1, 1};  // stride of the stored pixels
  int64_t h = 0, w = 0, c = 0;
  int64_t element = 0;                   // bytes
  int64_t pixel = 0, row = 0, size = 0;  // elements; size: per image
  int64_t offset = 0;         // bytes per sample, in the block or LastingValues
  int first = -1, last = -1;  // first and last step of its lifetime

  bool padded() const { return pads != Pads{}; }
  bool skips() const { return every != Size2{1, 1}; }
  int64_t bytes() const { return size * element; }

  /// Computes the sizes for contiguous pixels.
  void lay_out();
  /// Takes the strides of the storage that contains it.
  void lay_out_in(const Storage& whole);
  /// Pads the pixel stride of floats by a cache line if it is a multiple of 2
  /// KiB: neighbors would share few sets of the first-level cache. Only fused
  /// steps write such pixels.
  void pad_pixel_strides();

 private:
  void set_pixel(int64_t elements);
};

/// Returns the storage whose memory contains another, which is an alias or a
/// slice of it, or the storage itself.
int whole_of(std::span<const Storage> storages, int storage);

}  // namespace octet::inference
