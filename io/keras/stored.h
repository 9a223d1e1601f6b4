// Assignment of a file's weights to parameters. Internal to io/keras.
#pragma once

#include <string>
#include <vector>

#include <octet/io/keras.h>

#include "hdf5/reader.h"
#include "keras/stored_layers.h"
#include "keras/targets.h"

namespace octet::io {

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
