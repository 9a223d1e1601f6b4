// Pixels of a resized image or of a part of it. Internal to io.
#pragma once

#include <cstdint>

#include <octet/io/image.h>

namespace octet::io {

struct Range {
  int64_t first = 0;
  int64_t count = 0;
};

/// Computes rows and columns of the image resized to `whole`. The image must
/// have been checked.
/// Shapes: u8 [h,w,c] -> u8 [rows.count,columns.count,c].
Tensor resize_part(const Tensor& image, Size2 whole, Range rows, Range columns,
                   ResizeFilter filter);

/// Throws: ShapeError and ValueError as resize_image().
void check_pixels(const Tensor& image, int rank, Size2 size);

}  // namespace octet::io
