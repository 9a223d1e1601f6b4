// Insertion cases: placement rules in code. Shows why the toolkit policy needs
// a case for a residual block, then adds a custom case.
#include <iostream>

#include <octet/octet.h>

using namespace octet;

namespace {

// Quantizes the input of each MaxPooling2D that the user's spec does not name.
class MyMaxPoolCase : public quant::CustomQDQInsertionCase {
 public:
  std::string name() const override { return "MyMaxPool"; }
  std::string info() const override { return "every MaxPooling2D"; }
  quant::QuantizationSpec case_(
      const Model& model, const quant::QuantizationSpec& spec) const override {
    quant::QuantizationSpec result;
    for (const auto& layer : model.layers()) {
      if (layer->class_name() == "MaxPooling2D" &&
          quant::check_is_quantizable_by_layer_name(spec, layer->name())) {
        result.add(layer->name(), {.quantize_weight = false});
      }
    }
    return result;
  }
};

SymbolicTensor conv_bn(const SymbolicTensor& x) {
  return BatchNormalization()(
      Conv2D({.filters = 8, .padding = Padding::same})(x));
}

// A residual block: Add joins the shortcut and two convolutions.
Model residual_block() {
  const auto image = input({16, 16, 3}, "image");
  const auto shortcut = MaxPooling2D({.name = "max_pool"})(
      ReLU({.name = "relu"})(conv_bn(image)));
  const auto main = conv_bn(ReLU()(conv_bn(shortcut)));
  const auto sum = ReLU()(Add({.name = "add"})({shortcut, main}));
  return Model(image, Dense({.units = 10})(GlobalAveragePooling2D()(sum)));
}

void show(const char* title, const Model& model,
          const quant::QuantizeOptions& options) {
  const quant::QdqPlan plan = quant::place(model, options).plan;
  std::cout << title << '\n'
            << plan.to_string() << quant::count_pairs(plan, model).to_string()
            << "\n\n";
}

}  // namespace

int main() try {
  using quant::Policy;
  const Model model = residual_block();

  show("1. The toolkit policy alone: the shortcut input of Add is float.",
       model, {.policy = Policy::toolkit});

  quant::QuantizationSpec spec;
  spec.add("Add", {.is_keras_class = true});
  show(
      "2. A spec for class Add: both inputs are quantized, so TensorRT cannot "
      "fuse the convolution with Add.",
      model, {.spec = spec, .policy = Policy::toolkit});

  show("3. The ResNetV1 case: only the shortcut is quantized.", model,
       {.cases = {quant::ResNetV1QDQCase()}, .policy = Policy::toolkit});

  show("4. The ResNetV1 case and a custom case for MaxPooling2D.", model,
       {.cases = {quant::ResNetV1QDQCase(), MyMaxPoolCase()},
        .policy = Policy::toolkit});

  show(
      "5. The default policy, tensorrt: the shortcut is quantized without a "
      "case.",
      model, {});
} catch (const Error& error) {
  std::cerr << "error: " << error.what() << '\n';
  return 1;
}
