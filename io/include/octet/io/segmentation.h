// Images with a class per pixel, for segmentation networks.
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
  /// Masks are cropped and resized with their images, by the nearest pixel.
  ImageOptions images = {};
  /// Mask values of class 0, 1, ..., unique, such as {0, 255} for
  /// black-and-white masks. Other values, of ignored pixels, do not change and
  /// must not be those of a class. Empty: value i is class i.
  std::vector<int64_t> values = {};
  /// For load_segmentation_folders(): suffix of mask names after that of the
  /// image, such as "_mask".
  std::string mask_suffix = "";
};

/// Loads images and their masks, in the same order. Inputs are f32
/// [n,h,w,channels], labels i64 [n,h,w].
/// Throws: ShapeError for a wrong number of masks; ValueError for no files or
/// options out of range; FormatError for a file that is not a valid image or
/// mask (see read_mask()), a mask whose size is not its image's, or a pixel of
/// another value: on loading if eager, otherwise when read.
ImageFiles load_segmentation(std::vector<std::filesystem::path> images,
                             std::vector<std::filesystem::path> masks,
                             const SegmentationOptions& options = {});

/// Loads the .png, .jpg and .jpeg files of a folder, sorted by name, with the
/// masks of the same name in another folder: "cat.jpg" and "cat.png". Warns
/// about masks without an image.
/// Throws: as load_segmentation(); IoError for a missing folder; FormatError
/// for images without a mask.
ImageFiles load_segmentation_folders(const std::filesystem::path& images,
                                     const std::filesystem::path& masks,
                                     const SegmentationOptions& options = {});

}  // namespace octet::io
