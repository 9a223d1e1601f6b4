// The weights of a file, and which parameter each of them is for. Internal to
// io/keras.
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

/// Weights of a legacy file. `targets` may be regrouped: layers of nested
/// models by the name of their model, as the file has them. They must outlive
/// the result.
/// Throws: FormatError where names or counts disagree.
std::vector<Assignment> match_legacy(const std::vector<StoredLayer>& stored,
                                     std::vector<TargetLayer>& targets,
                                     const KerasOptions& options);

/// Weights in a .weights.h5 of Keras 3: a group for each layer in the order
/// of the model, named by its class and a running number.
std::vector<Assignment> match_weights_h5(const Hdf5Reader& file,
                                         std::vector<TargetLayer>& targets,
                                         const KerasOptions& options);
/// Whether a file is one of these.
bool is_weights_h5(const Hdf5Reader& file);

/// Reads all, checks all, and only then assigns.
/// Throws: FormatError for another shape or values that are not finite.
void assign_all(const Hdf5Reader& file,
                const std::vector<Assignment>& assignments);

}  // namespace octet::io
