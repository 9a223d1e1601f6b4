#include "wire.h"

#include <cstring>

#include <octet/runtime/error.h>

#include "printable.h"

namespace octet::io {
namespace {

enum class Tag : char { null, boolean, integer, number, string, list };

class WireWriter {
 public:
  template <class T>
  void put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put_string(std::string_view text) {
    put(text.size());
    bytes_.append(text);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  template <class T>
  T get() {
    T value;
    std::memcpy(&value, take_bytes(sizeof value).data(), sizeof value);
    return value;
  }
  std::string get_string() { return std::string(take_bytes(get<size_t>())); }
  size_t left() const { return rest_.size(); }

 private:
  std::string_view take_bytes(size_t count) {
    if (count > rest_.size()) {
      throw FormatError("malformed_file", "HDF5 worker process",
                        "response is truncated");
    }
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::string_view rest_;
};

void put_value(WireWriter& writer, const Config& value) {
  if (value.is_null()) {
    writer.put(Tag::null);
  } else if (value.is_bool()) {
    writer.put(Tag::boolean);
    writer.put(value.as_bool() ? char{1} : char{0});
  } else if (value.is_int()) {
    writer.put(Tag::integer);
    writer.put(value.as_int());
  } else if (value.is_number()) {
    writer.put(Tag::number);
    writer.put(value.as_number());
  } else if (value.is_string()) {
    writer.put(Tag::string);
    writer.put_string(value.as_string());
  } else {
    writer.put(Tag::list);
    writer.put(value.as_list().size());
    for (const Config& entry : value.as_list()) put_value(writer, entry);
  }
}

Config get_value(WireReader& reader, bool lists_allowed) {
  switch (reader.get<Tag>()) {
    case Tag::null:
      return Config();
    case Tag::boolean:
      return reader.get<char>() != 0;
    case Tag::integer:
      return reader.get<int64_t>();
    case Tag::number:
      return reader.get<double>();
    case Tag::string:
      return reader.get_string();
    case Tag::list:
      break;
    default:
      lists_allowed = false;
  }
  if (!lists_allowed) {
    throw FormatError("malformed_file", "HDF5 worker process",
                      "response has an unknown value");
  }
  Config::List list;
  // Every entry takes at least a byte: the loop ends for any count.
  for (auto count = reader.get<size_t>(); count > 0; --count) {
    list.push_back(get_value(reader, false));
  }
  return list;
}

}  // namespace

std::string to_wire(const Hdf5Request& request) {
  WireWriter writer;
  writer.put(request.op);
  writer.put(request.type);
  writer.put_string(request.path);
  writer.put_string(request.name);
  for (const int64_t dim : request.expected.dims()) writer.put(dim);
  return writer.take();
}

Hdf5Request request_from_wire(std::string_view bytes) {
  WireReader reader(bytes);
  Hdf5Request request;
  request.op = reader.get<Hdf5Request::Op>();
  request.type = reader.get<DType>();
  request.path = reader.get_string();
  request.name = reader.get_string();
  std::vector<int64_t> dims;
  while (reader.left() > 0) dims.push_back(reader.get<int64_t>());
  request.expected = Shape(std::span<const int64_t>(dims));
  return request;
}

std::string to_wire(const Config& value) {
  WireWriter writer;
  put_value(writer, value);
  return writer.take();
}

Config value_from_wire(std::string_view bytes) {
  WireReader reader(bytes);
  Config value = get_value(reader, true);
  if (reader.left() > 0) {
    throw FormatError("malformed_file", "HDF5 worker process",
                      "response has extra bytes");
  }
  return value;
}

std::string to_wire(const Error& error) {
  WireWriter writer;
  writer.put_string(error.code());
  writer.put_string(error.subject());
  writer.put_string(error.text());
  return writer.take();
}

Error error_from_wire(ErrorKind kind, std::string_view bytes) {
  WireReader reader(bytes);
  std::string code = printable(reader.get_string(), bytes.size());
  const std::string subject = printable(reader.get_string(), bytes.size());
  const std::string text = printable(reader.get_string(), bytes.size());
  return {kind, std::move(code), subject, text};
}

}  // namespace octet::io
