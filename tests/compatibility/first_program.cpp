// The program of the README: train, quantize, fine-tune, export.
#include <iostream>

#include <octet/octet.h>

using namespace octet;

int main() try {
  auto [train_set, test_set] = io::fashion_mnist();  // NHWC in [0,1], labels

  // 1. Build: a functional graph, Keras names.
  auto image = input({28, 28, 1}, "image");
  auto x = Conv2D({.filters = 32, .kernel_size = 3})(image);
  x = BatchNormalization()(x);
  x = ReLU()(x);
  x = MaxPooling2D({.pool_size = 2})(x);
  x = Flatten()(x);
  auto logits = Dense({.units = 10})(x);
  Model model(image, logits);

  // 2. Train in FP32.
  train::fit(model, train_set,
             {.epochs = 2,
              .optimizer = train::Adam({.learning_rate = 1e-3f}),
              .validation = &test_set,
              .callbacks = {train::progress_bar("fp32")}});

  // 3. Wrappers around a clone; `model` is untouched.
  Model qat = quant::quantize_model(model);
  quant::calibrate(qat, train_set, {.samples = 2048});
  std::cout << quant::plan_of(qat).to_string();

  // 4. Fine-tune on the grid that the device will use.
  quant::prepare_qat(qat);
  quant::freeze_bn_stats(qat);
  train::fit(
      qat, train_set,
      {.epochs = 1,
       .optimizer = train::SGD({.learning_rate = 1e-3f, .momentum = 0.9f}),
       .callbacks = {train::progress_bar("qat")}});
  std::cout << "int8: " << train::evaluate(qat, test_set) << '\n';

  // 5. Checked, then put in place.
  io::export_onnx(qat, "int8.onnx");
} catch (const Error& error) {
  std::cerr << "error: " << error.what() << '\n';
  return 1;
}
