#include "bytes.h"

#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet::train {
namespace {

enum class Kind : uint8_t {
  null,
  boolean,
  integer,
  number,
  text,
  list,
  object
};

}  // namespace

void BytesWriter::add_config(const Config& config) {
  if (config.is_null()) {
    add_value(Kind::null);
  } else if (config.is_bool()) {
    add_value(Kind::boolean);
    add_value(config.as_bool());
  } else if (config.is_int()) {
    add_value(Kind::integer);
    add_value(config.as_int());
  } else if (config.is_number()) {
    add_value(Kind::number);
    add_value(config.as_number());
  } else if (config.is_string()) {
    add_value(Kind::text);
    add_text(config.as_string());
  } else if (config.is_list()) {
    add_value(Kind::list);
    add_value(uint64_t{config.as_list().size()});
    for (const Config& entry : config.as_list()) add_config(entry);
  } else {
    add_value(Kind::object);
    add_value(uint64_t{config.as_object().size()});
    for (const auto& [name, entry] : config.as_object()) {
      add_text(name);
      add_config(entry);
    }
  }
}

void BytesWriter::add_tensor(const Tensor& tensor) {
  add_value(tensor.dtype());
  add_list(std::span<const int64_t>(tensor.shape().dims()));
  bytes_.append(static_cast<const char*>(tensor.raw()),
                static_cast<size_t>(tensor.bytes()));
}

const char* BytesReader::next(size_t size) {
  if (size > bytes_.size()) {
    throw InternalError(
        "internal", "message",
        fmt::format("expected {} more bytes from another rank, got {}", size,
                    bytes_.size()));
  }
  const char* at = bytes_.data();
  bytes_.remove_prefix(size);
  return at;
}

Config BytesReader::config() {
  switch (value<Kind>()) {
    case Kind::null:
      return {};
    case Kind::boolean:
      return value<bool>();
    case Kind::integer:
      return value<int64_t>();
    case Kind::number:
      return value<double>();
    case Kind::text:
      return text();
    case Kind::list: {
      Config::List entries;
      for (auto left = value<uint64_t>(); left > 0; --left) {
        entries.push_back(config());
      }
      return entries;
    }
    case Kind::object: {
      Config::Object entries;
      for (auto left = value<uint64_t>(); left > 0; --left) {
        std::string name = text();
        entries.emplace_back(std::move(name), config());
      }
      return entries;
    }
  }
  throw InternalError("internal", "message",
                      "received an invalid value from another rank");
}

Tensor BytesReader::tensor() {
  const auto type = value<DType>();
  const std::vector<int64_t> dims = list<int64_t>();
  Tensor result(Shape(std::span<const int64_t>(dims)), type);
  const auto size = static_cast<size_t>(result.bytes());
  std::memcpy(result.raw(), next(size), size);
  return result;
}

}  // namespace octet::train
