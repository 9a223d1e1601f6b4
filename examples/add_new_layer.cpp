// Adds a quantize wrapper for GlobalMaxPooling2D, a layer class without one.
// Keras' alias for the class is GlobalMaxPool2D.
#include <iostream>

#include <octet/octet.h>

using namespace octet;

namespace {

Model make_model() {
  const auto image = input({12, 10, 3});
  auto x = Conv2D({.filters = 8, .activation = "relu"})(image);
  x = GlobalMaxPooling2D({.name = "pool"})(x);
  return Model(image, Dense({.units = 4})(x));
}

quant::QdqPlan show(const char* title, const Model& model) {
  const quant::QdqPlan plan =
      quant::place(model, {.policy = quant::Policy::toolkit}).plan;
  std::cout << title << '\n'
            << plan.to_string() << quant::count_pairs(plan, model).to_string()
            << "\n\n";
  return plan;
}

}  // namespace

int main() try {
  const Model model = make_model();
  (void)show("Without the wrapper, GlobalMaxPooling2D is not quantized:",
             model);

  // The layer class is the name without "QuantizeWrapper". The wrapper places
  // Q/DQ at the first input; `.sites` selects other inputs, weights or the
  // output.
  quant::register_wrapper({.name = "GlobalMaxPool2DQuantizeWrapper"});
  const quant::QdqPlan plan = show("With the wrapper:", model);

  Model quantized = quant::apply(plan, model);
  Tensor images({64, 12, 10, 3});
  Rng(1).fill_uniform(images, -1, 1);
  quant::calibrate(quantized, [&](const Model& m) { (void)m.predict(images); });
  io::export_onnx(quantized, "add_new_layer.onnx");
  std::cout << quantized.layer("quant_pool").describe()
            << " is in add_new_layer.onnx\n";
} catch (const Error& error) {
  std::cerr << "error: " << error.what() << '\n';
  return 1;
}
