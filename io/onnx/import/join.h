// A layer of several values of a node. Internal to io/onnx/import.
#pragma once

#include <vector>

#include "importer.h"

namespace octet::io::importing {

/// The node's output is what the layer makes of these inputs, by number, that
/// are values and broadcast.
void join(Conversion& c, const LayerHandle& layer,
          const std::vector<int>& inputs);
/// The same of these inputs one behind another along an axis.
void concatenate(Conversion& c, const std::vector<int>& inputs, int64_t axis);
/// The numbers of all inputs.
std::vector<int> all_inputs(const Conversion& c);
/// The number of the input that is a constant, of two; -1 if none is.
int constant_input(const Conversion& c);

}  // namespace octet::io::importing
