// The reader of open_data() for folders of images. Internal to io.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <octet/io/open_data.h>

namespace octet::io {

/// "a, b, c, ... (12 in all)".
std::string few_names(const std::vector<std::string>& names);

/// Whether a folder is one of images with classes, complete or nearly so: its
/// reader reports the difference.
bool is_image_folder(const std::filesystem::path& folder);
/// Whether there is an image in a folder or below it.
bool holds_any_image(const std::filesystem::path& folder);

/// Images with classes; if labels are optional, images in any folders.
OpenedData open_images(const std::filesystem::path& path,
                       const OpenOptions& options);

/// Warns that labels are not used, since the class `name` is none of `names`.
void warn_of_labels(const std::filesystem::path& folder,
                    const std::string& name,
                    const std::vector<std::string>& names);
void drop_labels(OpenedData& opened);

}  // namespace octet::io
