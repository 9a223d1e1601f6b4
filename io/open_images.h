// Reader of image folders for open_data(). Internal to io.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <octet/io/data.h>

namespace octet::io {

/// "a, b, c, ... (12 in total)".
std::string few_names(const std::vector<std::string>& names);

/// Whether a folder has images by class, even if incomplete; its reader reports
/// the difference.
bool is_image_folder(const std::filesystem::path& folder);
/// Whether a folder or its subfolders contain an image.
bool holds_any_image(const std::filesystem::path& folder);

/// Opens images with classes or, if labels are optional, images in any folders.
OpenedData open_images(const std::filesystem::path& path,
                       const OpenDataOptions& options);

/// Opens a table of images.
OpenedData open_image_table(const std::filesystem::path& path,
                            const OpenDataOptions& options);

/// Warns that labels are ignored: class `name` is not in `names`.
void warn_of_labels(const std::filesystem::path& folder,
                    const std::string& name,
                    const std::vector<std::string>& names);
void drop_labels(OpenedData& opened);

}  // namespace octet::io
