// Checks shared by preprocess_input() and with_preprocessing().
#pragma once

#include <cstdint>

#include <octet/io/image.h>

namespace octet::io {

/// Throws: ValueError for values that are not finite or of another number than
/// the channels, or `bgr` without three channels.
void check_preprocess(const Preprocess& preprocess, int64_t channels);

}  // namespace octet::io
