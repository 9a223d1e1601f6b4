// Image decoders, one per format; only they use the format's library. Internal
// to io.
#pragma once

#include <cstdint>
#include <string_view>

#include <octet/runtime/tensor.h>

namespace octet::io {

/// Shapes: u8 [h,w,c], c 1 to 4 for PNG, 1 or 3 for JPEG.
/// Throws: FormatError; UnsupportedError in a build without the library.
Tensor decode_png(std::string_view bytes);
/// Shapes: u8 [h,w]. Throws: as read_mask().
Tensor decode_png_mask(std::string_view bytes);
Tensor decode_jpeg(std::string_view bytes);

/// Throws: FormatError if a side is 0 or the size exceeds the limits of
/// image.h.
void check_image_size(std::string_view format, uint64_t width, uint64_t height);

}  // namespace octet::io
