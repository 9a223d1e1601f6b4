// What folders and lists of images have in common. Internal to io.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <octet/io/image_files.h>

namespace octet::io {

/// Throws: ValueError naming `subject` for options out of range.
void check_image_options(std::string_view subject, const ImageOptions& options);

/// load_images() of checked options and labels; messages name `what`.
ImageFiles read_images(const std::string& what,
                       std::vector<std::filesystem::path> files, Tensor labels,
                       const ImageOptions& options);

}  // namespace octet::io
