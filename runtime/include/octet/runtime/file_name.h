// File names that promise a format: "m.engine" is a TensorRT engine to whoever
// sees it. Writers refuse the extension of another format than their own.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string_view>

#include <octet/runtime/language.h>

namespace octet {

/// An extension in wide use.
struct KnownExtension {
  std::string_view extension;  ///< ".engine", in lower case
  std::string_view format;     ///< "a TensorRT engine"
  std::string_view cure;       ///< how to get such a file; may be empty
};

/// The entry of a path's extension, in any case; null for unknown extensions
/// and for names without one.
const KnownExtension* find_extension(const std::filesystem::path& path);

/// Checks that a name does not promise another format than `format`, whose
/// extensions are `own`. Names with unknown extensions or none pass, as do
/// pipes and devices.
/// Throws: ValueError "'m.engine': expected the name of an ONNX model (.onnx),
/// got that of a TensorRT engine. Hint: ...".
void check_file_name(const std::filesystem::path& path, std::string_view format,
                     std::initializer_list<std::string_view> own);

}  // namespace octet
