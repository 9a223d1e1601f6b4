// CRC-32C (Castagnoli). Internal to io.
#pragma once

#include <cstdint>
#include <string_view>

namespace octet::io {

/// Source: RFC 3720, section 12.1: reflected polynomial 0x82f63b78, all ones
/// before and after.
uint32_t crc32c(std::string_view bytes);

/// CRC as stored in a record: masked, because a CRC of data that contains CRCs
/// is weak.
/// Source: TensorFlow, "TFRecord and tf.train.Example", TFRecords format
/// details.
uint32_t masked_crc32c(std::string_view bytes);

}  // namespace octet::io
