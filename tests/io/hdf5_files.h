// Writes valid and hostile HDF5 files with the library's C interface.
#pragma once

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "hdf5/library.h"
#include "hdf5/reader.h"

namespace octet::io {

inline hid_t sure(hid_t id) {
  if (id < 0) throw std::runtime_error("the HDF5 library refused to write");
  return id;
}

using Dims = std::vector<hsize_t>;

class Hdf5Image {
 public:
  Hdf5Image()
      : file_(make()), links_(sure(H5Pcreate(H5P_LINK_CREATE)), H5Pclose) {
    H5Pset_create_intermediate_group(links_.get(), 1);
  }

  hid_t id() const { return file_.get(); }

  void group(const std::string& path) {
    Handle(sure(H5Gcreate2(id(), path.c_str(), links_.get(), H5P_DEFAULT,
                           H5P_DEFAULT)),
           H5Gclose);
  }

  /// `data` has the stored type; null writes nothing.
  void dataset(const std::string& path, hid_t type, const Dims& dims,
               const void* data, hid_t how = H5P_DEFAULT) {
    const Handle space(sure(H5Screate_simple(static_cast<int>(dims.size()),
                                             dims.data(), nullptr)),
                       H5Sclose);
    const Handle set(sure(H5Dcreate2(id(), path.c_str(), type, space.get(),
                                     links_.get(), how, H5P_DEFAULT)),
                     H5Dclose);
    if (data != nullptr) {
      sure(H5Dwrite(set.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
    }
  }
  template <class T>
  void dataset(const std::string& path, hid_t type, const Dims& dims,
               std::initializer_list<T> values, hid_t how = H5P_DEFAULT) {
    dataset(path, type, dims, static_cast<const void*>(values.begin()), how);
  }

  void attribute(const std::string& object, const std::string& name, hid_t type,
                 hid_t space, const void* data) {
    const Handle owner(sure(H5Oopen(id(), object.c_str(), H5P_DEFAULT)),
                       H5Oclose);
    const Handle attribute(sure(H5Acreate2(owner.get(), name.c_str(), type,
                                           space, H5P_DEFAULT, H5P_DEFAULT)),
                           H5Aclose);
    if (data != nullptr) sure(H5Awrite(attribute.get(), type, data));
  }
  /// A list, or one value if `dims` is empty.
  template <class T>
  void attribute(const std::string& object, const std::string& name, hid_t type,
                 const Dims& dims, std::initializer_list<T> values) {
    const Handle space(
        sure(dims.empty() ? H5Screate(H5S_SCALAR)
                          : H5Screate_simple(static_cast<int>(dims.size()),
                                             dims.data(), nullptr)),
        H5Sclose);
    attribute(object, name, type, space.get(),
              values.size() == 0 ? nullptr : values.begin());
  }

  /// Strings of variable length: a list, or one if `dims` is empty.
  void texts(const std::string& object, const std::string& name,
             const Dims& dims, std::initializer_list<const char*> values) {
    Handle type(sure(H5Tcopy(H5T_C_S1)), H5Tclose);
    H5Tset_size(type.get(), H5T_VARIABLE);
    attribute<const char*>(object, name, type.get(), dims, values);
  }

  std::string finish() {
    sure(H5Fflush(id(), H5F_SCOPE_GLOBAL));
    std::string bytes(
        static_cast<size_t>(sure(H5Fget_file_image(id(), nullptr, 0))), '\0');
    sure(H5Fget_file_image(id(), bytes.data(), bytes.size()));
    return bytes;
  }

 private:
  static Handle make() {
    const Handle access(sure(H5Pcreate(H5P_FILE_ACCESS)), H5Pclose);
    H5Pset_fapl_core(access.get(), 1 << 16, 0);
    return Handle(
        sure(H5Fcreate("test.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access.get())),
        H5Fclose);
  }

  Handle file_;
  Handle links_;
};

/// Both ways of reading share their checks; every test runs with both.
class ReadBothWays : public ::testing::TestWithParam<Isolation> {
 protected:
  Hdf5Reader read() {
    return Hdf5Reader(image_.finish(), "a.h5", {.isolation = GetParam()});
  }

  Hdf5Image image_;
};

inline std::string isolation_name(
    const ::testing::TestParamInfo<Isolation>& test) {
  return test.param == Isolation::none ? "InProcess" : "InChild";
}

/// Storage options of a chunked dataset.
inline Handle chunked(const Dims& chunk) {
  Handle how(sure(H5Pcreate(H5P_DATASET_CREATE)), H5Pclose);
  H5Pset_chunk(how.get(), static_cast<int>(chunk.size()), chunk.data());
  return how;
}

inline Handle fixed_string(size_t bytes, H5T_str_t padding) {
  Handle type(sure(H5Tcopy(H5T_C_S1)), H5Tclose);
  H5Tset_size(type.get(), bytes);
  H5Tset_strpad(type.get(), padding);
  return type;
}

}  // namespace octet::io
