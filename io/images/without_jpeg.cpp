// Stands in for jpeg.cpp in a build without libjpeg.
#include <octet/io/image.h>
#include <octet/runtime/error.h>

#include "formats.h"

namespace octet::io {

bool reads_jpeg() { return false; }

Tensor decode_jpeg(std::string_view) {
  throw UnsupportedError(
      "JPEG: expected a build with libjpeg, got one without. Hint: install the "
      "package libjpeg62-turbo-dev and build again");
}

}  // namespace octet::io
