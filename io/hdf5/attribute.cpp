#include <optional>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "file.h"
#include "numbers.h"
#include "printable.h"

namespace octet::io {
namespace {

constexpr int64_t kMostEntries = int64_t{1} << 20;

// An open attribute and its metadata; no values are read yet.
struct Attribute {
  Handle id;
  Handle type;
  Handle space;
  int64_t count;  // of elements
  bool is_list;   // one-dimensional; otherwise scalar
  std::string subject;
};

int64_t count_of(hid_t space, const std::string& subject) {
  if (H5Sget_simple_extent_type(space) == H5S_NULL) return 0;
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 0) fail_in_library(subject, "count its dimensions");
  if (rank > 1) {
    throw FormatError(
        "invalid_shape", subject,
        fmt::format("must be a scalar or a list, got {} dimensions", rank));
  }
  hsize_t count = 1;
  if (rank == 1 && H5Sget_simple_extent_dims(space, &count, nullptr) != 1) {
    fail_in_library(subject, "find its dimensions");
  }
  if (count > hsize_t{kMostEntries}) {
    throw FormatError("size_limit", subject,
                      fmt::format("must have at most {} entries, got {}",
                                  kMostEntries, count));
  }
  return static_cast<int64_t>(count);
}

std::optional<Attribute> find_attribute(hid_t object, const std::string& owner,
                                        const std::string& name) {
  std::string subject =
      fmt::format("attribute '{}' of {}", printable(name), path_text(owner));
  if (name.empty() || name.find('\0') != std::string::npos) {
    throw FormatError("invalid_value", subject,
                      "name must not be empty or contain NUL");
  }
  const htri_t exists = H5Aexists(object, name.c_str());
  if (exists < 0) fail_in_library(subject, "look it up");
  if (exists == 0) return std::nullopt;
  Handle id = opened(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose,
                     subject, "open it");
  Handle type =
      opened(H5Aget_type(id.get()), H5Tclose, subject, "find its type");
  Handle space =
      opened(H5Aget_space(id.get()), H5Sclose, subject, "find its dimensions");
  const int64_t count = count_of(space.get(), subject);
  const bool is_list = H5Sget_simple_extent_type(space.get()) == H5S_SIMPLE;
  return Attribute{std::move(id), std::move(type), std::move(space),
                   count,         is_list,         std::move(subject)};
}

[[noreturn]] void fail_as_too_long(const Attribute& attribute) {
  throw FormatError(
      "size_limit", attribute.subject,
      fmt::format("must have at most {} bytes", kMostAttributeBytes));
}

/// Returns the elements as stored in the file.
std::vector<char> raw_elements(const Attribute& attribute) {
  const size_t bytes = H5Tget_size(attribute.type.get());
  if (bytes == 0 || bytes > size_t{kMostAttributeBytes} ||
      attribute.count > kMostAttributeBytes / static_cast<int64_t>(bytes)) {
    fail_as_too_long(attribute);
  }
  std::vector<char> raw(static_cast<size_t>(attribute.count) * bytes);
  const Handle same = opened(H5Tcopy(attribute.type.get()), H5Tclose,
                             attribute.subject, "copy its type");
  if (!raw.empty() && H5Aread(attribute.id.get(), same.get(), raw.data()) < 0) {
    fail_in_library(attribute.subject, "read it");
  }
  return raw;
}

// Strings of variable length, allocated and freed by the library.
class VariableStrings {
 public:
  explicit VariableStrings(const Attribute& attribute)
      : attribute_(attribute),
        type_(opened(H5Tcopy(H5T_C_S1), H5Tclose, attribute.subject,
                     "make a string type")),
        pointers_(static_cast<size_t>(attribute.count)) {
    if (H5Tset_size(type_.get(), H5T_VARIABLE) < 0 ||
        H5Tset_cset(type_.get(), H5Tget_cset(attribute.type.get())) < 0 ||
        H5Tset_strpad(type_.get(), H5Tget_strpad(attribute.type.get())) < 0) {
      fail_in_library(attribute.subject, "make a string type");
    }
    if (!pointers_.empty() &&
        H5Aread(attribute.id.get(), type_.get(), pointers_.data()) < 0) {
      fail_in_library(attribute.subject, "read it");
    }
  }
  ~VariableStrings() {
    if (pointers_.empty()) return;
    H5Dvlen_reclaim(type_.get(), attribute_.space.get(), H5P_DEFAULT,
                    pointers_.data());
  }
  VariableStrings(const VariableStrings&) = delete;
  VariableStrings& operator=(const VariableStrings&) = delete;

  std::vector<std::string> copy() const {
    std::vector<std::string> result;
    int64_t bytes = 0;
    for (const char* text : pointers_) {
      // The library may return a null pointer for an empty string.
      const std::string_view view = text == nullptr ? "" : text;
      bytes += static_cast<int64_t>(view.size());
      if (bytes > kMostAttributeBytes) fail_as_too_long(attribute_);
      result.emplace_back(view);
    }
    return result;
  }

 private:
  const Attribute& attribute_;
  Handle type_;
  std::vector<char*> pointers_;
};

std::vector<std::string> fixed_strings(const Attribute& attribute) {
  const std::vector<char> raw = raw_elements(attribute);
  const size_t bytes = H5Tget_size(attribute.type.get());
  const H5T_str_t padding = H5Tget_strpad(attribute.type.get());
  std::vector<std::string> result;
  for (size_t start = 0; start < raw.size(); start += bytes) {
    std::string_view text(raw.data() + start, bytes);
    if (padding == H5T_STR_NULLTERM) {
      text = text.substr(0, text.find('\0'));
    } else {
      const char pad = padding == H5T_STR_SPACEPAD ? ' ' : '\0';
      const size_t last = text.find_last_not_of(pad);
      text = text.substr(0, last == text.npos ? 0 : last + 1);
    }
    result.emplace_back(text);
  }
  return result;
}

bool holds_strings(const Attribute& attribute) {
  return H5Tget_class(attribute.type.get()) == H5T_STRING;
}

/// REQUIRES: holds_strings().
std::vector<std::string> strings_of(const Attribute& attribute) {
  const htri_t variable = H5Tis_variable_str(attribute.type.get());
  if (variable < 0) fail_in_library(attribute.subject, "find its type");
  return variable > 0 ? VariableStrings(attribute).copy()
                      : fixed_strings(attribute);
}

Config::List numbers_of(const Attribute& attribute) {
  const auto format = number_format(attribute.type.get());
  if (!format) {
    throw FormatError("unsupported_type", attribute.subject,
                      fmt::format("must be strings, numbers or bools, got {}",
                                  type_text(attribute.type.get())));
  }
  const std::vector<char> raw = raw_elements(attribute);
  Config::List list;
  for (size_t i = 0; i < raw.size() / format->bytes; ++i) {
    if (format->is_float()) {
      list.emplace_back(float_at(raw.data(), i, *format));
    } else if (!format->is_integer()) {
      list.emplace_back(raw[i] != 0);
    } else if (const auto value = integer_at(raw.data(), i, *format)) {
      list.emplace_back(*value);
    } else {
      throw FormatError("out_of_range", attribute.subject,
                        "integers must be below 2^63");
    }
  }
  return list;
}

/// Appends to `all`. An empty array may have any type.
void append_strings(const Attribute& attribute, Config::List& all,
                    int64_t& bytes) {
  if (attribute.count == 0) return;
  if (!attribute.is_list || !holds_strings(attribute)) {
    throw FormatError(
        "unsupported_type", attribute.subject,
        fmt::format("must be a list of strings, got {}{}",
                    attribute.is_list ? "a list of " : "a scalar: ",
                    type_text(attribute.type.get())));
  }
  for (std::string& text : strings_of(attribute)) {
    bytes += static_cast<int64_t>(text.size());
    all.emplace_back(std::move(text));
  }
  if (bytes > kMostAttributeBytes ||
      static_cast<int64_t>(all.size()) > kMostEntries) {
    fail_as_too_long(attribute);
  }
}

}  // namespace

Config attribute_value(hid_t object, const std::string& owner,
                       const std::string& name) {
  const std::optional<Attribute> attribute =
      find_attribute(object, owner, name);
  if (!attribute) return Config();
  Config::List list;
  if (attribute->count > 0 || attribute->is_list) {
    if (holds_strings(*attribute)) {
      for (std::string& text : strings_of(*attribute)) {
        list.emplace_back(std::move(text));
      }
    } else {
      list = numbers_of(*attribute);
    }
  }
  if (attribute->is_list) return list;
  if (list.empty()) {
    throw FormatError("missing_value", attribute->subject, "has no value");
  }
  return std::move(list.front());
}

Config string_list(hid_t object, const std::string& owner,
                   const std::string& name) {
  Config::List all;
  int64_t bytes = 0;
  if (const auto whole = find_attribute(object, owner, name)) {
    append_strings(*whole, all, bytes);
    return all;
  }
  // Source: Keras, hdf5_format.py, load_attributes_from_hdf5_group().
  for (int part = 0;; ++part) {
    const auto attribute =
        find_attribute(object, owner, fmt::format("{}{}", name, part));
    if (!attribute) return part == 0 ? Config() : Config(std::move(all));
    append_strings(*attribute, all, bytes);
  }
}

}  // namespace octet::io
