// CRCs of TensorBoard's records. Internal to io.
#pragma once

#include <cstdint>
#include <string_view>

#include <octet/runtime/detail/crc32c.h>

namespace octet::io {

/// CRC as stored in a record: masked, because a CRC of data that contains CRCs
/// is weak.
/// Source: TensorFlow, "TFRecord and tf.train.Example", TFRecords format
/// details.
inline uint32_t masked_crc32c(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

}  // namespace octet::io
