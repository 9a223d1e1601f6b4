// Replaces png.cpp in a build without libpng.
#include <octet/io/image.h>
#include <octet/runtime/error.h>

#include "formats.h"

namespace octet::io {

bool reads_png() { return false; }

namespace {

[[noreturn]] void refuse() {
  throw UnsupportedError("unsupported_format", "PNG image",
                         "this build has no libpng. Hint: install the package "
                         "libpng-dev and rebuild");
}

}  // namespace

Tensor decode_png(std::string_view) { refuse(); }
Tensor decode_png_mask(std::string_view) { refuse(); }

}  // namespace octet::io
