// What a legacy file has, layer by layer: names of weights, and the ranges of
// those that NVIDIA's tensorflow-quantization wrote. Internal to io/keras.
#pragma once

#include <string>
#include <vector>

#include "hdf5/reader.h"

namespace octet::io {

struct StoredWeight {
  std::vector<std::string> path;  ///< {"conv1", "kernel"}
  std::string dataset;
};

/// The two ends of what a quantizer of the toolkit represents.
struct StoredRange {
  /// The weight, "kernel", or empty for an input.
  std::string parameter;
  /// Among the inputs that are quantized, 0 for a weight.
  int input = 0;
  std::string min;  ///< datasets
  std::string max;
};

struct StoredLayer {
  std::string name;
  std::vector<StoredWeight> weights;  ///< without what is a range
  std::vector<StoredRange> ranges = {};
};

/// The layers under `group` that have weights or ranges, as Keras 1 and 2
/// write them: a group for each of its `layer_names`, whose `weight_names` are
/// the paths of datasets.
/// Throws: FormatError for lists that are missing, empty names, names that
/// come twice, and ranges with one end.
std::vector<StoredLayer> stored_layers(const Hdf5Reader& file,
                                       const std::string& group);

}  // namespace octet::io
