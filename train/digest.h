// A number that tells data apart. Internal to train.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <octet/runtime/dataset.h>

namespace octet::train {

/// FNV-1a of 64 bits.
/// Source: Eastlake, Hansen, Fowler, Vo, "The FNV Non-Cryptographic Hash
/// Algorithm", RFC 9923.
class Digest {
 public:
  Digest() = default;
  explicit Digest(int64_t value) : value_(static_cast<uint64_t>(value)) {}

  void add(std::span<const std::byte> bytes);
  void add(float number) { add(std::as_bytes(std::span(&number, 1))); }
  /// Values and shape.
  void add(const Tensor& tensor);
  void add(const Batch& batch);

  int64_t value() const { return static_cast<int64_t>(value_); }

 private:
  uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace octet::train
