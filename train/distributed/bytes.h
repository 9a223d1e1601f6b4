// Serialization of messages between ranks, which run the same program on
// machines of the same byte order. Internal to train.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <octet/runtime/config.h>
#include <octet/runtime/tensor.h>

namespace octet::train {

class BytesWriter {
 public:
  template <class T>
  void add_value(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  template <class T>
  void add_list(std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    add_value(uint64_t{values.size()});
    bytes_.append(reinterpret_cast<const char*>(values.data()),
                  values.size_bytes());
  }
  void add_text(std::string_view text) {
    add_list(std::span<const char>(text.data(), text.size()));
  }
  void add_config(const Config& config);
  /// REQUIRES: a tensor that is not empty().
  void add_tensor(const Tensor& tensor);

  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads values in the order in which BytesWriter added them.
class BytesReader {
 public:
  explicit BytesReader(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  T value() {
    static_assert(std::is_trivially_copyable_v<T>);
    T result;
    std::memcpy(&result, next(sizeof(T)), sizeof(T));
    return result;
  }
  template <class T>
  std::vector<T> list() {
    std::vector<T> values(value<uint64_t>());
    const char* from = next(values.size() * sizeof(T));
    if (!values.empty()) {
      std::memcpy(values.data(), from, values.size() * sizeof(T));
    }
    return values;
  }
  std::string text() {
    const auto size = static_cast<size_t>(value<uint64_t>());
    return {next(size), size};
  }
  Config config();
  Tensor tensor();

  bool at_end() const { return bytes_.empty(); }

 private:
  /// Consumes `size` bytes. Throws: InternalError past the end.
  const char* next(size_t size);

  std::string_view bytes_;
};

}  // namespace octet::train
