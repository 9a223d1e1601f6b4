// Image inputs of `octet predict`.
#pragma once

#include <string>
#include <vector>

#include "data_options.h"
#include "predictor.h"

namespace octet::program {

/// Returns whether a path is a folder or has an image extension. Unsupported
/// formats are included; reading them reports the error.
bool is_image_path(const std::string& path);

struct ImageRun {
  ModelSource model;
  std::string path;                  ///< image or folder of images
  std::vector<std::string> outputs;  ///< output files, may be empty
  DataOptions images;                ///< preprocessing
  int64_t batch = 0;                 ///< 0: the default of the model
};

/// Prints the classes of each image and writes the outputs: .npy with all
/// values, in the order of the printed files; .csv and .json with the classes.
/// Throws: ValueError for a model without a single image input; as
/// list_images(), load_unlabeled_images() and load_predictor().
void predict_images(const ImageRun& run);

/// Throws: ValueError if image options are given.
void check_no_image_options(const DataOptions& options);

}  // namespace octet::program
