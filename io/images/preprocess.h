// What preprocess_input() and with_preprocessing() both refuse.
#pragma once

#include <cstdint>

#include <octet/io/preprocess.h>

namespace octet::io {

/// Throws: ValueError for numbers that are not finite or not as many as
/// channels, or a `bgr` of other than three channels.
void check_preprocess(const Preprocess& preprocess, int64_t channels);

}  // namespace octet::io
