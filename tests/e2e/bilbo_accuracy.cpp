// bilbo_accuracy: the acceptance test of NVIDIA's toolkit (Fashion-MNIST,
// Bilbo, five epochs in FP32 and five quantized, with Adam), with an eighth of
// the filters and 10,000 images. Fails if quantization-aware training loses
// more than 2.0 points. Source: tensorflow-quantization 0.2.0,
// tests/quantize_test.py.
#include <exception>

#include <fmt/format.h>

#include <octet/io/data.h>
#include <octet/layers/zoo.h>
#include <octet/quant/quant.h>
#include <octet/train/train.h>

#include "images.h"

namespace octet {
namespace {

constexpr int64_t kImages = 10000;
constexpr double kMostPointsLost = 2.0;

double percent(const Model& model, const Dataset& data) {
  return 100 * train::evaluate(model, data).accuracy;
}

bool keeps_its_accuracy() {
  const io::TrainTest data = io::fashion_mnist();
  Model model = zoo::bilbo({.alpha = 1.0 / 8, .seed = 1});
  const Dataset train_set = images_for(model, data.train, kImages);
  const Dataset test_set = images_for(model, data.test, data.test.size());
  const auto train = [&](Model& m, int64_t batch_size, const char* name) {
    train::fit(m, train_set,
               {.epochs = 5,
                .batch_size = batch_size,
                .optimizer = train::Adam(),
                .seed = 1,
                .callbacks = {train::progress_bar(name)}});
    return percent(m, test_set);
  };
  const double baseline = train(model, 128, "fp32");
  Model quantized = quant::quantize_model(model);
  quant::calibrate(quantized, train_set.take(2048));
  const double calibrated = percent(quantized, test_set);
  quant::prepare_qat(quantized);
  const double trained = train(quantized, 32, "int8");
  fmt::print(
      "test accuracy: FP32 {:.2f} %, calibrated {:.2f} %, QAT {:.2f} %\n",
      baseline, calibrated, trained);
  return baseline > 50 && trained >= baseline - kMostPointsLost;
}

}  // namespace
}  // namespace octet

int main() try {
  return octet::keeps_its_accuracy() ? 0 : 1;
} catch (const std::exception& error) {
  fmt::print(stderr, "bilbo_accuracy: {}\n", error.what());
  return 1;
}
