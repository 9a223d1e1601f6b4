// Little-endian numbers in byte strings. Internal to session.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace octet::session {

static_assert(std::endian::native == std::endian::little,
              "session files are read and written without byte swaps");

template <class T>
void append_number(std::string& to, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  to.append(bytes, sizeof(T));
}

/// REQUIRES: at + sizeof(T) <= bytes.size().
template <class T>
T number_at(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

}  // namespace octet::session
