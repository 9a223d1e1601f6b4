// Weights of a file, and their assignment to parameters. Internal to io/keras.
#pragma once

#include <string>
#include <vector>

#include <octet/io/keras.h>

#include "hdf5/reader.h"
#include "keras/targets.h"

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

/// A layer of a legacy file.
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

/// A dataset for a parameter.
struct Assignment {
  const WeightTarget* target;
  std::string dataset;
  std::string what;  ///< "weight 'kernel' of layer 'conv1'"
};

/// Matches the weights of a legacy file. `targets` may be regrouped: layers of
/// nested models under their model's name, as in the file. They must outlive
/// the result.
/// Throws: FormatError if names or counts differ.
std::vector<Assignment> match_legacy(const std::vector<StoredLayer>& stored,
                                     std::vector<TargetLayer>& targets,
                                     const KerasOptions& options);

/// Matches the weights of a Keras 3 .weights.h5: a group per layer, in the
/// order of the model, named by class and number.
std::vector<Assignment> match_weights_h5(const Hdf5Reader& file,
                                         std::vector<TargetLayer>& targets,
                                         const KerasOptions& options);
/// Whether a file has that format.
bool is_weights_h5(const Hdf5Reader& file);

/// Reads and checks all weights before assigning any.
/// Throws: FormatError for another shape or values that are not finite.
void assign_all(const Hdf5Reader& file,
                const std::vector<Assignment>& assignments);

}  // namespace octet::io
