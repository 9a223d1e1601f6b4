#include "file.h"

#include <algorithm>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "printable.h"

namespace octet::io {
namespace {

constexpr size_t kLongestPath = 4096;
constexpr int kDeepestPath = 64;

// libhdf5 would copy an image twice. These callbacks share the original, which
// it only reads: the file is opened read-only.
void* lend_image(size_t, H5FD_file_image_op_t, void* image) { return image; }
void* copy_nothing(void* to, const void*, size_t, H5FD_file_image_op_t, void*) {
  return to;
}
void* never_grow(void*, size_t, H5FD_file_image_op_t, void*) { return nullptr; }
herr_t free_nothing(void*, H5FD_file_image_op_t, void*) { return 0; }
void* same_image(void* image) { return image; }
herr_t keep_image(void*) { return 0; }

Handle open_image(std::string_view image) {
  constexpr std::string_view kSubject = "HDF5 file";
  const Handle access = opened(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, kSubject,
                               "make a property list");
  void* bytes = const_cast<char*>(image.data());
  H5FD_file_image_callbacks_t callbacks = {
      lend_image, copy_nothing, never_grow, free_nothing,
      same_image, keep_image,   bytes};
  if (H5Pset_fapl_core(access.get(), 1 << 16, 0) < 0 ||
      H5Pset_file_image_callbacks(access.get(), &callbacks) < 0 ||
      H5Pset_file_image(access.get(), bytes, image.size()) < 0) {
    fail_in_library(kSubject, "take its contents");
  }
  // The library requires a name that cannot be opened as a file.
  return opened(H5Fopen("/dev/null/image.h5", H5F_ACC_RDONLY, access.get()),
                H5Fclose, kSubject, "open it");
}

const char* link_text(H5L_type_t type) {
  switch (type) {
    case H5L_TYPE_SOFT:
      return "a soft link";
    case H5L_TYPE_EXTERNAL:
      return "an external link";
    default:
      return "a link of another type";
  }
}

std::vector<std::string> components(const std::string& path) {
  if (path.size() > kLongestPath || path.find('\0') != std::string::npos) {
    throw FormatError(
        "invalid_value", path_text(path),
        fmt::format(
            "a path must have at most {} bytes and no NUL, got {} bytes",
            kLongestPath, path.size()));
  }
  std::vector<std::string> names;
  for (size_t start = 0; start < path.size();) {
    const size_t end = std::min(path.find('/', start), path.size());
    if (end > start) names.push_back(path.substr(start, end - start));
    start = end + 1;
  }
  if (names.size() > kDeepestPath) {
    throw FormatError(
        "size_limit", path_text(path),
        fmt::format("a path must have at most {} components, got {}",
                    kDeepestPath, names.size()));
  }
  return names;
}

/// Opens a link of a group; a null handle if it does not exist.
Handle step_into(hid_t group, const std::string& name,
                 const std::string& walked) {
  const std::string subject = path_text(walked);
  if (name == "." || name == "..") {
    throw FormatError("invalid_value", subject,
                      fmt::format("'{}' is not a name", name));
  }
  const htri_t exists = H5Lexists(group, name.c_str(), H5P_DEFAULT);
  if (exists < 0) fail_in_library(subject, "look it up");
  if (exists == 0) return Handle(H5I_INVALID_HID, H5Oclose);
  H5L_info_t info;
  if (H5Lget_info(group, name.c_str(), &info, H5P_DEFAULT) < 0) {
    fail_in_library(subject, "read its link");
  }
  if (info.type != H5L_TYPE_HARD) {
    throw FormatError(
        "unsupported_format", subject,
        fmt::format("must be a hard link, got {}", link_text(info.type)));
  }
  return opened(H5Oopen(group, name.c_str(), H5P_DEFAULT), H5Oclose, subject,
                "open it");
}

struct Names {
  std::vector<std::string> list;
  int64_t bytes = 0;
  bool too_many = false;
};

herr_t collect(hid_t, const char* name, const H5L_info_t*, void* data) {
  auto& names = *static_cast<Names*>(data);
  try {
    names.list.emplace_back(name);
    names.bytes += static_cast<int64_t>(names.list.back().size());
  } catch (const std::bad_alloc&) {
    return -1;  // exceptions must not pass through C
  }
  names.too_many = static_cast<int64_t>(names.list.size()) > kMostNames ||
                   names.bytes > kMostAttributeBytes;
  return names.too_many ? 1 : 0;
}

Config names_in(hid_t group, const std::string& path) {
  Names names;
  const herr_t status = H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE,
                                   nullptr, collect, &names);
  if (status < 0) fail_in_library(path_text(path), "list it");
  if (names.too_many) {
    throw FormatError("size_limit", path_text(path),
                      fmt::format("must have at most {} names", kMostNames));
  }
  std::sort(names.list.begin(), names.list.end());
  return Config::List(names.list.begin(), names.list.end());
}

/// Opens an object of the expected type. Throws: FormatError.
Handle open_as(hid_t file, const std::string& path, H5I_type_t type,
               const char* expected) {
  Handle object = open_object(file, path);
  const H5I_type_t got = H5Iget_type(object.get());
  if (got != type) {
    throw FormatError("malformed_file", path_text(path),
                      fmt::format("must be a {}, got a {}", expected,
                                  got == H5I_GROUP     ? "group"
                                  : got == H5I_DATASET ? "dataset"
                                                       : "named type"));
  }
  return object;
}

}  // namespace

std::string path_text(std::string_view path) {
  return fmt::format("'{}{}'", path.starts_with('/') ? "" : "/",
                     printable(path));
}

Handle find_object(hid_t file, const std::string& path) {
  Handle at =
      opened(H5Gopen2(file, "/", H5P_DEFAULT), H5Oclose, "'/'", "open it");
  std::string walked;
  for (const std::string& name : components(path)) {
    walked += '/';
    walked += name;
    if (H5Iget_type(at.get()) != H5I_GROUP) {
      return Handle(H5I_INVALID_HID, H5Oclose);
    }
    at = step_into(at.get(), name, walked);
    if (at.get() < 0) return at;
  }
  return at;
}

Handle open_object(hid_t file, const std::string& path) {
  Handle object = find_object(file, path);
  if (object.get() < 0) {
    throw FormatError("unknown_name", path_text(path), "no such object");
  }
  return object;
}

Hdf5File::Hdf5File(std::string_view image) : file_(open_image(image)) {}

Config Hdf5File::respond(const Hdf5Request& request) const {
  using Op = Hdf5Request::Op;
  const std::string& path = request.path;
  const hid_t file = file_.get();
  switch (request.op) {
    case Op::kind: {
      const Handle object = find_object(file, path);
      if (object.get() < 0) return Config();
      const H5I_type_t type = H5Iget_type(object.get());
      if (type == H5I_GROUP || type == H5I_DATASET) return type == H5I_DATASET;
      throw FormatError("unsupported_format", path_text(path),
                        "must be a group or a dataset, got a named type");
    }
    case Op::children:
      return names_in(open_as(file, path, H5I_GROUP, "group").get(), path);
    case Op::attribute:
      return attribute_value(open_object(file, path).get(), path, request.name);
    case Op::strings:
      return string_list(open_object(file, path).get(), path, request.name);
    case Op::shape:
      return dataset_shape(open_as(file, path, H5I_DATASET, "dataset").get(),
                           path);
    case Op::read:
      break;
  }
  throw InternalError("internal", "HDF5", "unknown request");
}

std::vector<char> Hdf5File::read(const Hdf5Request& request) const {
  const Handle dataset =
      open_as(file_.get(), request.path, H5I_DATASET, "dataset");
  return dataset_elements(dataset.get(), request);
}

}  // namespace octet::io
