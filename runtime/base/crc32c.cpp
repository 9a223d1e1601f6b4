#include <array>
#include <cstddef>

#include <octet/runtime/detail/crc32c.h>

namespace octet {
namespace {

using Table = std::array<uint32_t, 256>;

/// Returns the tables of slicing-by-8, which processes eight bytes per step:
/// tables[k][b] is the CRC register after byte b and k zero bytes, from 0.
/// Source: Kounavis and Berry, "Novel Table Lookup-Based Algorithms for
/// High-Performance CRC Generation", IEEE Trans. Computers 57(11), 2008.
constexpr std::array<Table, 8> make_tables() {
  std::array<Table, 8> tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) {
      crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
    }
    tables[0][i] = crc;
  }
  for (size_t k = 1; k < tables.size(); ++k) {
    for (size_t i = 0; i < 256; ++i) {
      const uint32_t before = tables[k - 1][i];
      tables[k][i] = before >> 8 ^ tables[0][before & 0xff];
    }
  }
  return tables;
}

constexpr std::array<Table, 8> kTables = make_tables();

uint32_t byte_at(std::string_view bytes, size_t index) {
  return static_cast<unsigned char>(bytes[index]);
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  uint32_t crc = ~0u;
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    crc ^= byte_at(bytes, i) | byte_at(bytes, i + 1) << 8 |
           byte_at(bytes, i + 2) << 16 | byte_at(bytes, i + 3) << 24;
    crc = kTables[7][crc & 0xff] ^ kTables[6][crc >> 8 & 0xff] ^
          kTables[5][crc >> 16 & 0xff] ^ kTables[4][crc >> 24] ^
          kTables[3][byte_at(bytes, i + 4)] ^
          kTables[2][byte_at(bytes, i + 5)] ^
          kTables[1][byte_at(bytes, i + 6)] ^ kTables[0][byte_at(bytes, i + 7)];
  }
  for (; i < bytes.size(); ++i) {
    crc = crc >> 8 ^ kTables[0][(crc ^ byte_at(bytes, i)) & 0xff];
  }
  return ~crc;
}

}  // namespace octet
