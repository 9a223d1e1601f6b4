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
/// the user's: whatever io::open_data() takes, f32 [32,32,3] in [0,255], as the
/// model was trained on. Without labels the classes are its own answers.
/// Throws: as open_data(); ShapeError for images of another size; ValueError
/// for values that look like [0,1].
PublishedModel pretrained_resnet(const std::filesystem::path& folder,
                                 const std::filesystem::path& images,
                                 const std::filesystem::path& labels);

}  // namespace octet::program
