// Image files and folders as the input of `octet predict`.
#pragma once

#include <string>
#include <vector>

#include "data_options.h"
#include "runnable.h"

namespace octet::program {

/// Whether a path is that of an image or of a folder, whatever the image's
/// format: readers report those that are not read.
bool is_image_path(const std::string& path);

struct ImageRun {
  ModelSource model;
  std::string path;                  ///< an image, or a folder of images
  std::vector<std::string> outputs;  ///< files for the outputs, or none
  DataOptions images;                ///< how images become inputs
  int64_t batch = 0;                 ///< 0: as the model has it
};

/// Prints the classes of each image and writes the outputs: .npy with all
/// values, in the order of the printed files; .csv and .json with the classes.
/// Throws: ValueError for a model that takes no single image; as list_images(),
/// load_unlabeled_images() and read_runnable().
void predict_images(const ImageRun& run);

/// Throws: ValueError if options for images are given.
void check_no_image_options(const DataOptions& options);

}  // namespace octet::program
