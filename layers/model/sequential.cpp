#include <octet/layers/model.h>

namespace octet {
namespace {

Model chain(const Shape& shape, const std::vector<LayerHandle>& layers,
            const ModelOptions& options) {
  const SymbolicTensor first = input(shape);
  SymbolicTensor x = first;
  for (const LayerHandle& layer : layers) x = layer(x);
  return Model(first, x, options);
}

}  // namespace

Sequential::Sequential(const Shape& input,
                       const std::vector<LayerHandle>& layers,
                       const ModelOptions& options)
    : Model(chain(input, layers, options)) {}

}  // namespace octet
