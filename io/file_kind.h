// Detection of a file's kind from its contents, and the errors of readers for
// files of another kind. Kinds are reported only if certain; readers ask after
// they failed to parse a file. Internal to io.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>

namespace octet::io {

enum class FileKind {
  unknown,
  empty,
  folder,
  octet_model,  ///< also a checkpoint; load_model() loads both
  keras_h5,
  hdf5,      ///< neither Keras' nor Octet's
  cut_hdf5,  ///< shorter than its header states
  keras_archive,
  npz,
  pytorch,
  zip,
  pickle,
  npy,
  png,
  jpeg,
  other_image,
  gzip,
  tar,
  idx,
  onnx,
  saved_model,  ///< of TensorFlow: the folder or its .pb
  frozen_graph,
  tensorflow_checkpoint,
  tflite,
  tensorrt_engine,
  safetensors,
  gguf,
  git_lfs_pointer,
  html,
  json,
  text,
};

/// Returns the kind of a file from its contents; for most kinds, the first
/// bytes suffice.
FileKind kind_of(std::string_view contents);

/// "a PNG image. Hint: read it with io::read_image".
std::string described(FileKind kind);

/// Throws: FormatError "file: expected <expected>, got <kind>. Hint: ..." if
/// the kind of `contents` is known and not in `own`.
void refuse_other_kind(std::string_view expected, std::string_view contents,
                       std::initializer_list<FileKind> own = {});

/// read_file(), whose error for a folder names the `expected` kind of file.
/// Throws: IoError.
std::string read_file_as(std::string_view expected,
                         const std::filesystem::path& path,
                         int64_t limit = int64_t{1} << 31);

}  // namespace octet::io
