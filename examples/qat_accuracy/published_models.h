// Models of MLPerf Tiny as published, and inputs to evaluate them on.
#pragma once

#include <filesystem>
#include <string>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>

namespace octet::program {

struct PublishedModel {
  std::string name;
  Model model;
  Dataset data;  ///< inputs and their classes
};

/// Loads the keyword spotting model and 1,000 test inputs f32 [49,10,1] from
/// models/ and kws01/ of a folder.
/// Throws: IoError; FormatError for files of other sizes.
PublishedModel keywords(const std::filesystem::path& folder);

/// Loads the image classification model models/pretrainedResnet.h5 of a folder,
/// and images [32,32,3] with values in [0,255], as in its training: a .npy file
/// of floats or bytes, or data that io::open_data() accepts, its test part if
/// any. Without labels, the model's own predictions are the classes.
/// Throws: as open_data() and read_npy(); ShapeError for images of another
/// size; ValueError for values out of range or all at most 1, and for other
/// than ten classes.
PublishedModel pretrained_resnet(const std::filesystem::path& folder,
                                 const std::filesystem::path& images,
                                 const std::filesystem::path& labels);

}  // namespace octet::program
