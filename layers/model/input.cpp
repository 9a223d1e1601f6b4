#include "model/input.h"

#include <vector>

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/layer.h>
#include <octet/runtime/error.h>
#include <octet/runtime/system.h>

namespace octet {
namespace {

class InputLayer final : public Layer {
 public:
  explicit InputLayer(const Shape& shape) {
    std::vector<int64_t> dims{Shape::kAnySize};
    for (const int64_t dim : shape.dims()) {
      if (dim < 1) {
        throw ShapeError("invalid_shape", "input",
                         fmt::format("dimensions must be at least 1, got {}",
                                     shape.to_string()));
      }
      dims.push_back(dim);
    }
    shape_ = Shape(dims);
  }

  std::string class_name() const override { return "InputLayer"; }
  Config config() const override {
    Config::List dims;
    for (const int64_t dim : shape_.dims().subspan(1)) dims.emplace_back(dim);
    return Config().set("shape", std::move(dims));
  }
  Shape output_shape(std::span<const Shape>) const override { return shape_; }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return inputs[0];
  }
  OnnxValue emit(EmitContext&,
                 std::span<const OnnxValue> inputs) const override {
    return inputs[0];
  }

 private:
  Shape shape_;  // including the batch axis
};

}  // namespace

std::shared_ptr<Layer> make_input(const Shape& shape, std::string name) {
  (void)active_isa();  // throws for an invalid OCTET_ISA before any layer
  auto layer = std::make_shared<InputLayer>(shape);
  layer->set_name(std::move(name));
  return layer;
}

bool is_input(const Layer& layer) {
  return dynamic_cast<const InputLayer*>(&layer) != nullptr;
}

extern const LayerDef input_def;
const LayerDef input_def{
    .class_name = "InputLayer",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      std::vector<int64_t> dims;
      for (const Config& dim : config.at("shape").as_list()) {
        dims.push_back(dim.as_int());
      }
      return make_input(Shape(dims), "");
    },
};

}  // namespace octet
