#pragma once

#include <vector>

#include <octet/layers/model.h>

namespace octet {

/// A Model of consecutive layers:
///
///   Sequential model({28, 28, 1}, {Conv2D({.filters = 8}), ReLU(), Flatten(),
///                                  Dense({.units = 10})});
///
/// Shapes: `input` is one sample, without the batch.
/// Throws: as the calls of the layers.
class Sequential : public Model {
 public:
  Sequential(const Shape& input, const std::vector<LayerHandle>& layers,
             const ModelOptions& options = {.name = "sequential"});
};

}  // namespace octet
