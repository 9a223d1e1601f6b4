#include "writer.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "file.h"
#include "library.h"
#include "printable.h"

namespace octet::io {
namespace {

constexpr size_t kGrowth = size_t{4} << 20;

// Source: Keras, hdf5_format.py, HDF5_OBJECT_HEADER_LIMIT: an object header has
// at most 64 KiB, including names and types of attributes.
constexpr size_t kMostBytes = 64512;
/// Size of the reference to a string of variable length, which is stored
/// elsewhere.
constexpr size_t kStringBytes = 16;

/// Throws: InternalError if `status` is a failure: user errors are checked
/// earlier.
void must(herr_t status, std::string_view action) {
  if (status >= 0) return;
  throw InternalError("internal", "HDF5 file",
                      fmt::format("cannot {}: {}", action, library_reason()));
}

Handle made(hid_t id, Handle::Close close, std::string_view action) {
  must(id < 0 ? -1 : 0, action);
  return Handle(id, close);
}

void check_text(std::string_view text, std::string_view what) {
  if (text.find('\0') != std::string_view::npos) {
    throw ValueError(
        "invalid_value", what,
        fmt::format("must not contain NUL, got '{}'", printable(text)));
  }
}

void check_path(const std::string& path) {
  check_text(path, "HDF5 path");
  if (path.empty() || path == "/") return;
  for (size_t start = path.starts_with('/') ? 1 : 0; start <= path.size();) {
    const size_t end = std::min(path.find('/', start), path.size());
    const std::string name = path.substr(start, end - start);
    if (name.empty() || name == "." || name == "..") {
      throw ValueError("invalid_value",
                       fmt::format("HDF5 path '{}'", printable(path)),
                       fmt::format("'{}' is not a name", name));
    }
    start = end + 1;
  }
}

/// Returns the absolute path: the library requires a name for the root.
std::string absolute(const std::string& path) {
  return path.starts_with('/') ? path : fmt::format("/{}", path);
}

Handle string_type() {
  Handle type = made(H5Tcopy(H5T_C_S1), H5Tclose, "make a string type");
  must(H5Tset_size(type.get(), H5T_VARIABLE), "make a string type");
  must(H5Tset_cset(type.get(), H5T_CSET_UTF8), "make a string type");
  return type;
}

/// Bool type of h5py.
Handle bool_type() {
  Handle type =
      made(H5Tenum_create(H5T_STD_I8LE), H5Tclose, "make a type of bools");
  for (const bool yes : {false, true}) {
    const signed char value = yes ? 1 : 0;
    must(H5Tenum_insert(type.get(), yes ? "TRUE" : "FALSE", &value),
         "make a type of bools");
  }
  return type;
}

Handle copy_of(hid_t type) {
  return made(H5Tcopy(type), H5Tclose, "copy a type");
}

hid_t stored_type(DType type, const std::string& path) {
  switch (type) {
    case DType::f32:
      return H5T_IEEE_F32LE;
    case DType::i8:
      return H5T_STD_I8LE;
    case DType::u8:
      return H5T_STD_U8LE;
    case DType::i16:
      return H5T_STD_I16LE;
    case DType::i32:
      return H5T_STD_I32LE;
    case DType::i64:
      return H5T_STD_I64LE;
    case DType::boolean:
      break;
  }
  throw ValueError(
      "unsupported_type", fmt::format("HDF5 dataset {}", path_text(path)),
      fmt::format("elements must be f32, i8, u8, i16, i32 or i64, got {}",
                  to_string(type)));
}

// Values of an attribute; memory and file layout are equal.
struct Values {
  Handle type;
  std::vector<char> bytes;
  size_t each;  // bytes of an element
};

template <class T, class Get>
Values values_of(Handle type, std::span<const Config> list, Get get) {
  Values values{std::move(type), {}, sizeof(T)};
  values.bytes.reserve(list.size() * sizeof(T));
  for (const Config& entry : list) {
    const T value = get(entry);
    const auto* bytes = reinterpret_cast<const char*>(&value);
    values.bytes.insert(values.bytes.end(), bytes, bytes + sizeof(T));
  }
  return values;
}

Values values_of(std::span<const Config> list, const std::string& subject) {
  const auto all = [&](bool (Config::*is)() const) {
    return std::all_of(list.begin(), list.end(),
                       [&](const Config& entry) { return (entry.*is)(); });
  };
  if (list.empty()) return {copy_of(H5T_IEEE_F64LE), {}, sizeof(double)};
  if (all(&Config::is_string)) {
    return values_of<const char*>(string_type(), list, [&](const Config& text) {
      check_text(text.as_string(), subject);
      return text.as_string().c_str();
    });
  }
  if (all(&Config::is_bool)) {
    return values_of<char>(bool_type(), list, [](const Config& value) {
      return value.as_bool() ? char{1} : char{0};
    });
  }
  if (all(&Config::is_int)) {
    return values_of<int64_t>(
        copy_of(H5T_STD_I64LE), list,
        [](const Config& value) { return value.as_int(); });
  }
  if (all(&Config::is_number)) {
    return values_of<double>(
        copy_of(H5T_IEEE_F64LE), list,
        [](const Config& value) { return value.as_number(); });
  }
  throw ValueError(
      "unsupported_type", subject,
      "values must be strings, bools or numbers, all of the same type");
}

void write_attribute(hid_t object, const std::string& name,
                     const Values& values, hid_t space, size_t first) {
  const Handle list =
      made(H5Pcreate(H5P_ATTRIBUTE_CREATE), H5Pclose, "make an attribute");
  must(H5Pset_char_encoding(list.get(), H5T_CSET_UTF8), "name an attribute");
  const Handle attribute =
      made(H5Acreate2(object, name.c_str(), values.type.get(), space,
                      list.get(), H5P_DEFAULT),
           H5Aclose, "make an attribute");
  if (H5Sget_simple_extent_npoints(space) == 0) return;
  must(H5Awrite(attribute.get(), values.type.get(),
                values.bytes.data() + first * values.each),
       "write an attribute");
}

Handle array_space(size_t count) {
  const hsize_t dim = count;
  return made(H5Screate_simple(1, &dim, nullptr), H5Sclose, "make dimensions");
}

bool has_attribute(hid_t object, const std::string& name) {
  return H5Aexists(object, name.c_str()) > 0;
}

}  // namespace

struct Hdf5Writer::File {
  Handle file;
  Handle links;   // link creation properties: create parents, names in UTF-8
  Handle groups;  // group creation properties
  Handle datasets;

  /// Throws: ValueError if a parent of `path` is not a group.
  void check_parents(const std::string& path) const {
    for (size_t end = path.find('/', 1); end != std::string::npos;
         end = path.find('/', end + 1)) {
      const Handle parent = find_object(file.get(), path.substr(0, end));
      if (parent.get() < 0) return;
      if (H5Iget_type(parent.get()) != H5I_GROUP) {
        throw ValueError(
            "invalid_value", fmt::format("HDF5 path {}", path_text(path)),
            fmt::format("parents must be groups, but {} is a dataset",
                        path_text(path.substr(0, end))));
      }
    }
  }

  /// Opens an object. Throws: ValueError if it does not exist.
  Handle object(const std::string& path) const {
    check_path(path);
    Handle found = find_object(file.get(), path);
    if (found.get() < 0) {
      throw ValueError("unknown_name",
                       fmt::format("HDF5 object {}", path_text(path)),
                       "no such object");
    }
    return found;
  }
};

Hdf5Writer::Hdf5Writer() {
  const LibraryLock lock;
  const Handle access =
      made(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "make a file");
  must(H5Pset_fapl_core(access.get(), kGrowth, 0), "make a file in memory");
  // The library identifies open files by name.
  static uint64_t number = 0;
  const std::string name = fmt::format("octet-{}.h5", number++);
  Handle file =
      made(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()),
           H5Fclose, "make a file in memory");
  Handle links = made(H5Pcreate(H5P_LINK_CREATE), H5Pclose, "make links");
  must(H5Pset_create_intermediate_group(links.get(), 1), "make links");
  must(H5Pset_char_encoding(links.get(), H5T_CSET_UTF8), "make links");
  Handle groups = made(H5Pcreate(H5P_GROUP_CREATE), H5Pclose, "make groups");
  Handle datasets =
      made(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "make datasets");
  // Time stamps would make each file different.
  must(H5Pset_obj_track_times(groups.get(), false), "leave times out");
  must(H5Pset_obj_track_times(datasets.get(), false), "leave times out");
  file_ = std::make_unique<File>(std::move(file), std::move(links),
                                 std::move(groups), std::move(datasets));
}

Hdf5Writer::~Hdf5Writer() {
  const LibraryLock lock;
  file_.reset();
}

void Hdf5Writer::group(const std::string& path) {
  const LibraryLock lock;
  check_path(path);
  const Handle found = find_object(file_->file.get(), path);
  if (found.get() >= 0) {
    if (H5Iget_type(found.get()) == H5I_GROUP) return;
    throw ValueError("duplicate_name",
                     fmt::format("HDF5 group {}", path_text(path)),
                     "a dataset of this name exists");
  }
  file_->check_parents(path);
  made(H5Gcreate2(file_->file.get(), absolute(path).c_str(), file_->links.get(),
                  file_->groups.get(), H5P_DEFAULT),
       H5Gclose, fmt::format("make the group {}", path_text(path)));
}

void Hdf5Writer::attribute(const std::string& object, const std::string& name,
                           const Config& value) {
  const LibraryLock lock;
  const Handle owner = file_->object(object);
  const std::string subject = fmt::format("HDF5 attribute '{}' of {}",
                                          printable(name), path_text(object));
  check_text(name, subject);
  if (name.empty()) {
    throw ValueError("invalid_value", subject, "name must not be empty");
  }
  if (has_attribute(owner.get(), name)) {
    throw ValueError("duplicate_name", subject, "already exists");
  }
  if (!value.is_list()) {
    const Values one = values_of({&value, 1}, subject);
    const Handle space =
        made(H5Screate(H5S_SCALAR), H5Sclose, "make dimensions");
    write_attribute(owner.get(), name, one, space.get(), 0);
    return;
  }
  const std::span<const Config> list = value.as_list();
  const Values values = values_of(list, subject);
  const bool is_strings = !list.empty() && list.front().is_string();
  const size_t most = kMostBytes / (is_strings ? kStringBytes : values.each);
  const size_t parts = std::max<size_t>((list.size() + most - 1) / most, 1);
  if (parts == 1) {
    write_attribute(owner.get(), name, values, array_space(list.size()).get(),
                    0);
    return;
  }
  if (!is_strings) {
    throw ValueError("size_limit", subject,
                     fmt::format("must have at most {} values, got {}. Hint: "
                                 "store them as a dataset",
                                 most, list.size()));
  }
  for (size_t part = 0; part < parts; ++part) {
    const size_t first = part * list.size() / parts;
    const size_t end = (part + 1) * list.size() / parts;
    write_attribute(owner.get(), fmt::format("{}{}", name, part), values,
                    array_space(end - first).get(), first);
  }
}

void Hdf5Writer::dataset(const std::string& path, const Tensor& values) {
  if (values.empty()) {
    throw ValueError("missing_value",
                     fmt::format("HDF5 dataset {}", path_text(path)),
                     "tensor must not be empty");
  }
  const LibraryLock lock;
  check_path(path);
  const Handle found = find_object(file_->file.get(), path);
  if (found.get() >= 0) {
    throw ValueError("duplicate_name",
                     fmt::format("HDF5 dataset {}", path_text(path)),
                     "already exists");
  }
  file_->check_parents(path);
  std::vector<hsize_t> dims;
  for (const int64_t dim : values.shape().dims()) {
    dims.push_back(static_cast<hsize_t>(dim));
  }
  const Handle space =
      dims.empty()
          ? made(H5Screate(H5S_SCALAR), H5Sclose, "make dimensions")
          : made(H5Screate_simple(values.shape().rank(), dims.data(), nullptr),
                 H5Sclose, "make dimensions");
  const hid_t type = stored_type(values.dtype(), path);
  const std::string action =
      fmt::format("write the dataset {}", path_text(path));
  const Handle dataset = made(
      H5Dcreate2(file_->file.get(), absolute(path).c_str(), type, space.get(),
                 file_->links.get(), file_->datasets.get(), H5P_DEFAULT),
      H5Dclose, action);
  if (values.size() == 0) return;
  must(H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                values.raw()),
       action);
}

std::string Hdf5Writer::finish() {
  const LibraryLock lock;
  const hid_t file = file_->file.get();
  must(H5Fflush(file, H5F_SCOPE_GLOBAL), "finish the file");
  const ssize_t bytes = H5Fget_file_image(file, nullptr, 0);
  must(bytes < 0 ? -1 : 0, "finish the file");
  std::string image(static_cast<size_t>(bytes), '\0');
  must(H5Fget_file_image(file, image.data(), image.size()) < 0 ? -1 : 0,
       "finish the file");
  return image;
}

}  // namespace octet::io
