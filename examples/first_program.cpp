// The program in the README: train, quantize, fine-tune, export.
#include <iostream>

#include <octet/octet.h>
using namespace octet;

int main() try {
  auto [train_set, test_set] = io::fashion_mnist();  // NHWC in [0,1], labels

  auto image = input({28, 28, 1}, "image");  // a functional graph, as in Keras
  auto x = Conv2D({.filters = 32, .kernel_size = 3})(image);
  x = MaxPooling2D()(ReLU()(BatchNormalization()(x)));
  Model model(image, Dense({.units = 10})(Flatten()(x)));
  train::fit(model, train_set, {.epochs = 2, .validation = &test_set});
  std::cout << "float: " << train::evaluate(model, test_set) << '\n';

  Model int8 = quant::quantize_model(model);  // a copy with Q/DQ pairs
  quant::calibrate(int8, train_set, {.samples = 2048});
  quant::prepare_qat(int8);
  quant::freeze_bn_stats(int8);
  train::fit(int8, train_set,
             {.epochs = 1, .optimizer = train::SGD({.learning_rate = 1e-3f})});
  std::cout << "fine-tuned: " << train::evaluate(int8, test_set) << '\n';
  io::export_onnx(int8, "int8.onnx");
} catch (const Error& error) {
  std::cerr << "error: " << error.what() << '\n';
  return 1;
}
