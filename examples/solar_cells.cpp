// Solar-cell inspection in C++: an ImageNet network learns to find defective
// cells, then becomes an INT8 network.
#include <iostream>

#include <octet/octet.h>

using namespace octet;

int main(int argc, char** argv) try {
  if (argc != 4)
    throw ValueError("usage", argv[0], "NET.onnx CELLS.csv OUT.onnx");
  Model model = with_classifier(io::import_onnx(argv[1]).model, 2);
  const std::string mode = "0.498/0.502";  // (x - 127) / 128
  const Shape size = model.inputs()[0].shape();
  const io::ImageTable cells = io::load_image_table(
      argv[2], {.images = {.size = {size[1], size[2]},
                           .preprocess = io::preprocess_mode(mode),
                           .cache_bytes = int64_t{1} << 30}});
  train::FitOptions options{
      .epochs = 1,
      .batch_size = 32,
      .optimizer = train::AdamW({.learning_rate = 1e-3f}),
      .callbacks = {train::progress_bar()},
      .augmentation = {train::random_flip({.vertical = true})}};
  model.set_trainable("*", false);
  model.set_trainable(classifier_of(model), true);
  train::fit(model, cells.train, options);  // the new classifier

  model.set_trainable(true);
  options.epochs = 14;
  options.optimizer = train::AdamW({.learning_rate = 5e-4f});
  options.schedule = train::cosine();
  train::fit(model, cells.train, options);  // all layers
  std::cout << "float: " << train::evaluate(model, *cells.test) << '\n';

  const train::QatPreset& preset = train::qat_preset("int8_mobile");
  Model int8 = quant::quantize_model(model, preset.quantize(model));
  quant::calibrate(int8, cells.train, preset.calibration());
  preset.prepare(int8);
  options.epochs = 2;
  options.optimizer = preset.optimizer();
  train::fit(int8, cells.train, options);
  std::cout << "int8: " << train::evaluate(int8, *cells.test) << '\n';
  io::export_onnx(int8, argv[3],
                  {.classes = cells.classes, .preprocess = mode});
} catch (const Error& error) {
  std::cerr << "error: " << error.what() << '\n';
  return 1;
}
