// Models of MLPerf Tiny as their authors trained them, and inputs to judge them
// by.
#pragma once

#include <filesystem>
#include <string>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>

namespace octet::program {

struct PublishedModel {
  std::string name;
  Model model;
  Dataset data;  ///< its inputs, and classes of them
};

/// Keyword spotting, and 1,000 inputs f32 [49,10,1] of its test set: models/
/// and kws01/ of a folder. Throws: IoError; FormatError for files of other
/// sizes.
PublishedModel keywords(const std::filesystem::path& folder);

/// Image classification, models/pretrainedResnet.h5 of a folder, and images of
/// the user's, [32,32,3] with values in [0,255], as the model was trained on: a
/// .npy file of floats or bytes, or what io::open_data() takes, of which the
/// test part. Without labels the classes are its own answers. Throws: as
/// open_data() and read_npy(); ShapeError for images of another size;
/// ValueError for values out of range, or none above 1, and for other classes
/// than ten.
PublishedModel pretrained_resnet(const std::filesystem::path& folder,
                                 const std::filesystem::path& images,
                                 const std::filesystem::path& labels);

}  // namespace octet::program
