// Weight names and NVIDIA tensorflow-quantization's ranges of a legacy file,
// layer by layer. Internal to io/keras.
#pragma once

#include <string>
#include <vector>

#include "hdf5/reader.h"

namespace octet::io {

struct StoredWeight {
  std::vector<std::string> path;  ///< {"conv1", "kernel"}
  std::string dataset;
};

/// The two ends of a range of a toolkit quantizer.
struct StoredRange {
  /// The weight, "kernel", or empty for an input.
  std::string parameter;
  /// Index among the quantized inputs; 0 for a weight.
  int input = 0;
  std::string min;  ///< datasets
  std::string max;
};

struct StoredLayer {
  std::string name;
  std::vector<StoredWeight> weights;  ///< without ranges
  std::vector<StoredRange> ranges = {};
};

/// Returns the layers under `group` that have weights or ranges, in the format
/// of Keras 1 and 2: a group for each of its `layer_names`, whose
/// `weight_names` are paths of datasets.
/// Throws: FormatError for missing lists, empty or duplicate names, and ranges
/// with one end.
std::vector<StoredLayer> stored_layers(const Hdf5Reader& file,
                                       const std::string& group);

}  // namespace octet::io
