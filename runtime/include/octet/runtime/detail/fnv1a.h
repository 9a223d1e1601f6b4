// Fnv1a: the hash behind seeds and fingerprints. Its values are stored in files
// and must not change between versions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <octet/runtime/detail/language.h>

namespace octet {

/// 64-bit FNV-1a. Not cryptographic.
/// Source: Eastlake, Hansen, Fowler, Vo, "The FNV Non-Cryptographic Hash
/// Algorithm", RFC 9923.
class Fnv1a {
 public:
  Fnv1a() = default;
  /// Continues from the value() of another hash.
  explicit Fnv1a(uint64_t value) : value_(value) {}

  void add(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) {
      value_ ^= static_cast<uint64_t>(byte);
      value_ *= 0x100000001b3;
    }
  }
  void add(float number) { add(std::as_bytes(std::span(&number, 1))); }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace octet
