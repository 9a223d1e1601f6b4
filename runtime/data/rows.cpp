#include <cstring>

#include <octet/runtime/detail/tensor_parts.h>

namespace octet {

Tensor rows_at(const Tensor& from, std::span<const int64_t> places) {
  Tensor rows(from.shape().with(0, std::ssize(places)), from.dtype());
  if (rows.bytes() == 0) return rows;
  const auto bytes = static_cast<size_t>(from.bytes() / from.shape()[0]);
  auto* to = static_cast<std::byte*>(rows.raw());
  const auto* values = static_cast<const std::byte*>(from.raw());
  for (const int64_t place : places) {
    std::memcpy(to, values + static_cast<size_t>(place) * bytes, bytes);
    to += bytes;
  }
  return rows;
}

}  // namespace octet
