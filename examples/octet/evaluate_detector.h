// octet evaluate --task detection.
#pragma once

#include <string>
#include <vector>

#include "data_options.h"
#include "read_model.h"

namespace octet::program {

struct DetectorEvaluation {
  ModelSource model;
  DataOptions data;  ///< labels: a folder, or a COCO file
  std::string head;  ///< "": found by the number of classes
  double score = 0.001;
  double overlap = 0.7;
  bool json = false;
};

/// Prints COCO's average precision of a detector.
/// Throws: ValueError for options that do not apply; as ImageModel,
/// io::load_yolo_labels(), io::load_coco_labels(), train::detector_output().
void evaluate_detector(const DetectorEvaluation& evaluation);

}  // namespace octet::program
