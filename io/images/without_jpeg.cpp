// Replaces jpeg.cpp in a build without libjpeg.
#include <octet/io/image.h>
#include <octet/runtime/error.h>

#include "formats.h"

namespace octet::io {

bool reads_jpeg() { return false; }

Tensor decode_jpeg(std::string_view) {
  throw UnsupportedError("unsupported_format", "JPEG image",
                         "this build has no libjpeg. Hint: install the package "
                         "libjpeg62-turbo-dev and rebuild");
}

}  // namespace octet::io
