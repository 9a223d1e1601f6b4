// Layers with several inputs. Internal to io/onnx/import.
#pragma once

#include <vector>

#include "importer.h"

namespace octet::io::importing {

/// Sets the node's output to the layer's output for these inputs, which must be
/// values and broadcast.
void join(Conversion& c, const LayerHandle& layer,
          const std::vector<int>& inputs);
/// Sets the node's output to the concatenation of these inputs along an axis.
void concatenate(Conversion& c, const std::vector<int>& inputs, int64_t axis);
/// Returns the indices of all inputs.
std::vector<int> all_inputs(const Conversion& c);
/// Returns the index of the constant of two inputs; -1 if there is none.
int constant_input(const Conversion& c);

}  // namespace octet::io::importing
