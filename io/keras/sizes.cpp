// How large the parameters of a layer get, told before it is built: a
// configuration may ask for any size, and only what the file can fill is
// given. In doubles, which do not overflow.
#include <octet/layers/layer.h>

#include "keras/builder.h"

namespace octet::io {
namespace {

double number(const Config& config, const char* key) {
  return static_cast<double>(config.at(key).as_int());
}
double cells(const Config& config) {
  const Config::List& size = config.at("kernel_size").as_list();
  return static_cast<double>(size[0].as_int()) *
         static_cast<double>(size[1].as_int());
}

double product(const Shape& shape, int first) {
  double result = 1;
  for (int axis = first; axis < shape.rank(); ++axis) {
    result *= static_cast<double>(shape[axis]);
  }
  return result;
}

}  // namespace

double parameter_count(const Layer& layer, std::span<const Shape> inputs) {
  if (inputs.empty() || inputs[0].rank() < 2) return 0;
  const Shape& x = inputs[0];
  const double c = static_cast<double>(x[-1]);
  const std::string name = layer.class_name();
  const Config config = layer.config();
  if (name == "Conv2D") {
    const double filters = number(config, "filters");
    return cells(config) * c / number(config, "groups") * filters + filters;
  }
  if (name == "Conv2DTranspose") {
    const double filters = number(config, "filters");
    return cells(config) * c * filters + filters;
  }
  if (name == "DepthwiseConv2D" || name == "SeparableConv2D") {
    const double mixed = c * number(config, "depth_multiplier");
    const double each = cells(config) * mixed;
    if (name == "DepthwiseConv2D") return each + mixed;
    const double filters = number(config, "filters");
    return each + mixed * filters + filters;
  }
  if (name == "Dense") {
    const double units = number(config, "units");
    return c * units + units;
  }
  if (name == "BatchNormalization") return 4 * c;
  if (name == "LayerNormalization") return 2 * c;
  if (name == "Normalization") return 2 * product(x, 1) + 1;
  if (name == "PReLU" || name == "PositionEmbedding") return product(x, 1);
  if (name == "ClassToken") return c;
  return 0;
}

}  // namespace octet::io
