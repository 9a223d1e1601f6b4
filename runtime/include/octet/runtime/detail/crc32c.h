// CRC-32C (Castagnoli), the checksum of Octet's files.
#pragma once

#include <cstdint>
#include <string_view>

#include <octet/runtime/detail/language.h>

namespace octet {

/// Source: RFC 3720, section 12.1: reflected polynomial 0x82f63b78, all ones
/// before and after.
uint32_t crc32c(std::string_view bytes);

}  // namespace octet
