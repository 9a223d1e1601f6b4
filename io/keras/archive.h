// The .keras archive. Internal to io/keras.
// Source: keras/src/saving/saving_lib.py, _save_model_to_fileobj.
#pragma once

#include <string>
#include <string_view>

namespace octet::io {

inline constexpr const char* kArchiveWeights = "model.weights.h5";

struct KerasArchive {
  std::string config;    ///< config.json
  std::string metadata;  ///< metadata.json, empty if missing
  std::string weights;   ///< model.weights.h5
};

/// Reads an archive.
/// Throws: FormatError (damaged, or a member is missing); UnsupportedError for
/// weights in other formats than HDF5.
KerasArchive read_archive(std::string_view contents);

}  // namespace octet::io
