// Images with a class for each pixel, for networks that segment.
//
//   const Dataset data =
//       io::load_segmentation_folders("JPEGImages", "SegmentationClass",
//                                     {.images = {.size = {128, 128}}}).data;
//   train::fit(model, data, {.loss = train::losses::
//       sparse_categorical_cross_entropy({.ignore_label = 255})});
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <octet/io/image_files.h>

namespace octet::io {

/// Fields in order: images, values, mask_suffix
struct SegmentationOptions {
  /// Masks are cut and resized with their image, by the nearest pixel.
  ImageOptions images = {};
  /// What pixels of class 0, 1, ... hold, each once, as {0, 255} for masks in
  /// black and white; other numbers, of pixels that do not count, stay as they
  /// are and may not be that of a class. Empty: class i is i.
  std::vector<int64_t> values = {};
  /// Of load_segmentation_folders(): what the names of masks have behind those
  /// of their images, as "_mask".
  std::string mask_suffix = "";
};

/// Masks in the order of their images. Inputs are f32 [n,h,w,channels], labels
/// i64 [n,h,w].
/// Throws: ShapeError for another number of masks; ValueError for no files or
/// options out of range; FormatError for a file that is no sound image or no
/// mask, see read_mask(), a mask of another size than its image, or a pixel of
/// another value: at once if eager, else when it is read.
ImageFiles load_segmentation(std::vector<std::filesystem::path> images,
                             std::vector<std::filesystem::path> masks,
                             const SegmentationOptions& options = {});

/// The .png, .jpg and .jpeg files of a folder, sorted by name, with the masks
/// of another one that are called alike: "cat.jpg" and "cat.png". Masks without
/// an image are warned of.
/// Throws: as load_segmentation(); IoError for a folder that is missing;
/// FormatError for images without a mask.
ImageFiles load_segmentation_folders(const std::filesystem::path& images,
                                     const std::filesystem::path& masks,
                                     const SegmentationOptions& options = {});

}  // namespace octet::io
