// Images with labeled boxes, for object detectors.
//
//   const io::DetectionSet set = io::load_yolo_labels("shapes/images/val");
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <octet/train/detection.h>

namespace octet::io {

/// Images with their objects.
struct DetectionSet {
  std::vector<std::filesystem::path> images;  ///< sorted by path
  /// Objects of each image. Edges are fractions of its width and height.
  std::vector<std::vector<train::LabeledBox>> objects;
  /// Name of each class; empty for YOLO's folders, which have no class names.
  std::vector<std::string> classes = {};
};

/// Loads the labels of YOLO's folders: a text file per image with a row "class
/// x y width height" per object, where x and y are the center, or "class x1 y1
/// x2 y2 ..." with the corners of its outline, all as fractions of the image.
/// An image without a file, or with an empty one, has no objects. By default
/// the labels of images/val/1.jpg are in labels/val/1.txt.
///
/// Drops repeated rows and boxes without area, with a warning.
/// Throws: IoError for missing folders; FormatError naming the file and line of
/// an invalid row or a number outside [0,1]; FormatError if no image has a
/// label file.
DetectionSet load_yolo_labels(const std::filesystem::path& images,
                              const std::filesystem::path& labels = {});

/// Loads the labels of COCO's "instances" files. Class i is the category with
/// the i-th lowest id. `images` is the folder of the image files that `json`
/// names.
///
/// Drops boxes without area, with a warning.
/// Throws: IoError for missing files; FormatError for invalid JSON or labels,
/// naming the annotation or image.
DetectionSet load_coco_labels(const std::filesystem::path& images,
                              const std::filesystem::path& json);

}  // namespace octet::io
