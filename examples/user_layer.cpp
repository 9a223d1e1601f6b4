// A custom layer: GlobalMinPooling2D, the minimum of each channel. It trains
// and is cloned, quantized and exported like built-in layers.
#include <iostream>

#include <octet/layers/custom_layer.h>
#include <octet/octet.h>

using namespace octet;

namespace {

class GlobalMinPooling2DLayer : public Layer {
 public:
  std::string class_name() const override { return "GlobalMinPooling2D"; }
  Config config() const override { return Config::Object(); }  // no options

  Shape output_shape(std::span<const Shape> inputs) const override {
    if (inputs.size() != 1 || inputs[0].rank() != 4) {
      throw ShapeError("invalid_shape", "input",
                       "must be a single tensor [n,h,w,c]");
    }
    return {inputs[0][0], inputs[0][3]};
  }
  // Ops are differentiable, and so is a layer of ops.
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return negate(max(negate(inputs[0]), {1, 2}));
  }
  // Values have the axes of Keras; export assigns those of the file.
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    return {context.node("ReduceMin", {inputs[0].name},
                         {{"axes", std::vector<int64_t>{1, 2}},
                          {"keepdims", int64_t{0}}}),
            {inputs[0].shape[0], inputs[0].shape[3]}};
  }
};

// Registry entry, used to copy and load the layer.
const LayerDef kGlobalMinPooling2D{
    .class_name = "GlobalMinPooling2D",
    .create = [](const Config&) -> std::shared_ptr<Layer> {
      return custom_layer<GlobalMinPooling2DLayer>().layer();
    }};

LayerHandle GlobalMinPooling2D() {
  return custom_layer<GlobalMinPooling2DLayer>();
}

}  // namespace

int main() try {
  register_layer(kGlobalMinPooling2D);
  Sequential model({8, 6, 3}, {Conv2D({.filters = 4, .activation = "relu"}),
                               GlobalMinPooling2D(), Dense({.units = 2})});
  std::cout << model.summary();

  // Images with one dark pixel, or none.
  const int64_t n = 256;
  Tensor images({n, 8, 6, 3});
  Tensor labels({n}, DType::i64);
  Rng rng(1);
  rng.fill_uniform(images, 0.5f, 1.0f);
  for (int64_t i = 0; i < n; ++i) {
    labels.data<int64_t>()[static_cast<size_t>(i)] = i % 2;
    if (i % 2 == 0) continue;
    const int64_t pixel = 1 + rng.below(6) + 6 * (1 + rng.below(6));
    images.f32()[static_cast<size_t>((i * 48 + pixel % 48) * 3)] = -1;
  }
  const Dataset data(images, labels);
  train::fit(model, data,
             {.epochs = 30,
              .batch_size = 32,
              .optimizer = train::Adam({.learning_rate = 1e-2f})});
  const Model copy = model.clone();
  const train::Evaluation result = train::evaluate(copy, data);
  std::cout << result << '\n';
  io::export_onnx(copy, "user_layer.onnx");
  return result.accuracy > 0.95 ? 0 : 1;
} catch (const Error& error) {
  std::cerr << "error: " << error.what() << '\n';
  return 1;
}
