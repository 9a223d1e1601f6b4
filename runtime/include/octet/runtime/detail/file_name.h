// File name extensions of known formats. Writers reject the extension of a
// format other than their own.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string_view>

#include <octet/runtime/detail/language.h>

namespace octet {

/// A widely used file name extension.
struct KnownExtension {
  std::string_view extension;  ///< ".engine", in lower case
  std::string_view format;     ///< "a TensorRT engine"
  std::string_view hint;       ///< how to obtain such a file; may be empty
};

/// The known extension of a path, case-insensitive; null for unknown extensions
/// and names without an extension.
const KnownExtension* find_extension(const std::filesystem::path& path);

/// Checks that the extension of `path` is not that of a format other than
/// `format`, whose extensions are `own`. Unknown extensions, pipes and devices
/// pass.
/// Throws: ValueError "m.engine: '.engine' is the extension of a TensorRT
/// engine, expected an ONNX model (.onnx). Hint: ...".
void check_file_name(const std::filesystem::path& path, std::string_view format,
                     std::initializer_list<std::string_view> own);

}  // namespace octet
