// What a file is, by its contents, and the words in which a reader refuses one
// of another kind. Never says what a file is that it does not know for sure:
// readers ask only after they could not read it. Internal to io.
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
  octet_model,  ///< or a checkpoint: load_model() takes both
  keras_h5,
  hdf5,      ///< of someone else
  cut_hdf5,  ///< shorter than it says itself
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
  saved_model,  ///< TensorFlow's: the folder or the .pb in it
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

/// Of a whole file; the start of a large one is enough for most kinds.
FileKind kind_of(std::string_view contents);

/// "a PNG image. Hint: io::read_image reads it".
std::string described(FileKind kind);

/// Throws: FormatError "file: expected <expected>, got <what it is>. Hint: ..."
/// if the contents are of a kind that is known and not among `own`.
void refuse_other_kind(std::string_view expected, std::string_view contents,
                       std::initializer_list<FileKind> own = {});

/// As read_file(), for a reader of `expected`, which a folder is not.
/// Throws: IoError.
std::string read_file_as(std::string_view expected,
                         const std::filesystem::path& path,
                         int64_t limit = int64_t{1} << 31);

}  // namespace octet::io
