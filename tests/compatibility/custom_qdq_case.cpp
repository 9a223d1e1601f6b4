// Insertion cases: rules, in code, that say for a model which layers to
// quantize in another way. First why they are needed, on a residual block;
// then one of the user's own.
#include <iostream>

#include <octet/octet.h>

using namespace octet;

namespace {

// Q/DQ at the input of every MaxPooling2D that the user's spec does not name.
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

// The shortcut joins what two convolutions make of it.
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

  show("1. Default: the shortcut reaches Add as floating point.", model,
       {.policy = Policy::toolkit});

  quant::QuantizationSpec spec;
  spec.add("Add", {.is_keras_class = true});
  show(
      "2. A spec with class Add: both inputs, which keeps TensorRT from fusing "
      "the convolution with Add.",
      model, {.spec = spec, .policy = Policy::toolkit});

  show("3. The ResNetV1 case: the shortcut alone.", model,
       {.cases = {quant::ResNetV1QDQCase()}, .policy = Policy::toolkit});

  show("4. A custom case beside it.", model,
       {.cases = {quant::ResNetV1QDQCase(), MyMaxPoolCase()},
        .policy = Policy::toolkit});

  show("The policy that holds when nobody names one finds the shortcut itself.",
       model, {});
} catch (const Error& error) {
  std::cerr << "error: " << error.what() << '\n';
  return 1;
}
