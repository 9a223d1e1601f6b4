#include "external.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <octet/runtime/error.h>

#include "onnx/graph/tensors.h"
#include "proto_limits.h"

namespace octet::io {
namespace {

class OpenFile {
 public:
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(OpenFile&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  OpenFile& operator=(OpenFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// An entry of external_data.
struct Place {
  std::string location;
  int64_t offset = 0;
  int64_t length = -1;  // -1: not stated
};

class ExternalData {
 public:
  ExternalData(const std::filesystem::path& folder, int64_t limit)
      : folder_(folder.empty() ? "." : folder), left_(limit), limit_(limit) {}

  void read(onnx::GraphProto& graph) {
    for (auto& tensor : *graph.mutable_initializer()) {
      read(tensor, "initializer");
    }
    for (auto& tensor : *graph.mutable_sparse_initializer()) read(tensor);
    for (auto& node : *graph.mutable_node()) {
      for (auto& attribute : *node.mutable_attribute()) {
        if (attribute.has_t()) read(*attribute.mutable_t(), describe(node));
        for (auto& tensor : *attribute.mutable_tensors()) {
          read(tensor, describe(node));
        }
        if (attribute.has_sparse_tensor()) {
          read(*attribute.mutable_sparse_tensor());
        }
        for (auto& tensor : *attribute.mutable_sparse_tensors()) read(tensor);
        if (attribute.has_g()) read(*attribute.mutable_g());
        for (auto& inner : *attribute.mutable_graphs()) read(inner);
      }
    }
  }

 private:
  void read(onnx::SparseTensorProto& tensor) {
    if (tensor.has_values()) read(*tensor.mutable_values(), "sparse tensor");
    if (tensor.has_indices()) read(*tensor.mutable_indices(), "sparse tensor");
  }

  void read(onnx::TensorProto& tensor, const std::string& where) {
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL) return;
    const std::string what =
        fmt::format("{} '{}'", where, printable(tensor.name()));
    const int64_t bytes = raw_bytes(tensor, what);
    const Place place = place_of(tensor, what);
    if (place.length >= 0 && place.length != bytes) {
      throw FormatError(
          "malformed_file", what,
          fmt::format("needs {} bytes for {} {}, but its external data in "
                      "'{}' has a length of {}",
                      bytes, type_name(tensor.data_type()), dims_text(tensor),
                      printable(place.location), place.length));
    }
    if (bytes > left_) {
      throw FormatError("memory_limit", "ONNX model",
                        fmt::format("external data exceeds the limit of {} "
                                    "MiB. Hint: raise FileLimits.memory_limit ("
                                    "--memory-limit)",
                                    limit_ >> 20));
    }
    left_ -= bytes;
    tensor.set_raw_data(part(place, bytes, what));
    tensor.clear_external_data();
    tensor.clear_data_location();
  }

  static Place place_of(const onnx::TensorProto& tensor,
                        const std::string& what) {
    Place place;
    const auto number = [&](const onnx::StringStringEntryProto& entry) {
      const std::string& text = entry.value();
      int64_t value = -1;
      const auto end = text.data() + text.size();
      const auto read = std::from_chars(text.data(), end, value);
      if (read.ec == std::errc() && read.ptr == end && value >= 0) return value;
      throw FormatError(
          "malformed_file", what,
          fmt::format("{} of its external data must be a number of bytes, "
                      "got '{}'",
                      printable(entry.key()), printable(text)));
    };
    for (const auto& entry : tensor.external_data()) {
      if (entry.key() == "location") place.location = entry.value();
      if (entry.key() == "offset") place.offset = number(entry);
      if (entry.key() == "length") place.length = number(entry);
    }
    return place;
  }

  std::string part(const Place& place, int64_t bytes, const std::string& what) {
    const int file = open(place.location, what);
    struct stat status {};
    if (::fstat(file, &status) != 0) fail(place, what, "read", errno);
    if (place.offset > status.st_size ||
        bytes > status.st_size - place.offset) {
      throw FormatError(
          "truncated_file", what,
          fmt::format("needs {} bytes from byte {} of '{}', but the file has "
                      "{}",
                      bytes, place.offset, printable(place.location),
                      status.st_size));
    }
    std::string data(static_cast<size_t>(bytes), '\0');
    for (int64_t done = 0; done < bytes;) {
      const ssize_t count =
          ::pread(file, data.data() + done, static_cast<size_t>(bytes - done),
                  place.offset + done);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) fail(place, what, "read", count < 0 ? errno : EIO);
      done += count;
    }
    return data;
  }

  // Files stay open until all tensors are read.
  int open(const std::string& location, const std::string& what) {
    const auto known = files_.find(location);
    if (known != files_.end()) return known->second.get();
    const std::filesystem::path path(location);
    bool inside = !location.empty() && path.is_relative() &&
                  location.find('\0') == location.npos && path.has_filename();
    for (const auto& part : path) inside = inside && part != "..";
    if (!inside) {
      throw FormatError("invalid_graph", what,
                        fmt::format("external data must be in a file below "
                                    "the model's folder, got '{}'",
                                    printable(location)));
    }
    OpenFile at(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (auto next = path.begin(); at.get() >= 0 && next != path.end();) {
      const std::string name = next->string();
      const bool last = ++next == path.end();
      // Opening a pipe would block.
      const int flags =
          O_RDONLY | O_NOFOLLOW | O_CLOEXEC | (last ? O_NONBLOCK : O_DIRECTORY);
      at = OpenFile(::openat(at.get(), name.c_str(), flags));
    }
    if (at.get() < 0) fail({.location = location}, what, "open", errno);
    struct stat status {};
    if (::fstat(at.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_nlink != 1) {
      throw FormatError("invalid_graph", what,
                        fmt::format("external data must be in a regular file "
                                    "with one hard link, got '{}'",
                                    printable(location)));
    }
    return files_.emplace(location, std::move(at)).first->second.get();
  }

  [[noreturn]] static void fail(const Place& place, const std::string& what,
                                std::string_view verb, int error) {
    if (error == ELOOP || error == ENOTDIR) {
      throw FormatError("invalid_graph", what,
                        fmt::format("external data must be reached without "
                                    "symbolic links, got '{}'",
                                    printable(place.location)));
    }
    if (error == ENOENT) {
      throw IoError("file_not_found", what,
                    fmt::format("its external data '{}' does not exist. Hint: "
                                "keep that file in the model's folder",
                                printable(place.location)));
    }
    throw IoError("cannot_read", what,
                  fmt::format("cannot {} its external data '{}': {}", verb,
                              printable(place.location), std::strerror(error)));
  }

  std::filesystem::path folder_;
  int64_t left_;
  int64_t limit_;
  std::map<std::string, OpenFile> files_;
};

}  // namespace

void read_external_data(onnx::ModelProto& model,
                        const std::filesystem::path& folder, int64_t limit) {
  if (!model.has_graph()) return;
  ExternalData(folder, limit).read(*model.mutable_graph());
}

}  // namespace octet::io
