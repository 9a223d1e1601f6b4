// Benchmark of training steps (forward pass, backward pass, SGD) of a zoo
// network, in images per second. Mode qat_float multiplies quantized values in
// float arithmetic; mode qat_learned trains the scales (LSQ).
#include <cstdio>
#include <exception>
#include <optional>

#include "timing.h"

namespace octet::bench {
namespace {

void run(const Arguments& a) {
  Model model = zoo::make(a.model);
  const double forward = operations(model) * static_cast<double>(a.batch);
  if (a.mode != "fp32") {
    quant::QuantizeOptions options;
    if (a.mode == "qat_learned") {
      options.activation.rule = options.weight.rule = quant::ScaleRule::learned;
    }
    model = quantized(a.model, options);
  }
  const Tensor data = images(zoo::entry(a.model).input, a.batch);
  // A class label per sample, or per pixel for segmentation.
  const Shape logits = model.outputs()[0].shape().with(0, a.batch);
  Tensor labels(logits.slice(0, logits.rank() - 1), DType::i64);
  for (int64_t i = 0; i < labels.size(); ++i) {
    labels.data<int64_t>()[static_cast<size_t>(i)] = i % logits[-1];
  }
  std::vector<Variable> trained;
  for (const Parameter& p : model.parameters()) {
    if (p.trainable) trained.push_back(p.variable);
  }
  train::Optimizer optimizer =
      train::SGD({.learning_rate = 1e-4f, .momentum = 0.9f});
  optimizer.attach(trained);
  std::optional<FloatGemmGuard> floats;
  if (a.mode == "qat_float") floats.emplace();
  const Variable x(data);
  // The backward pass takes twice the operations of the forward pass.
  report(a, 3 * forward, [&] {
    optimizer.minimize(softmax_cross_entropy(model(x, Mode::training), labels));
  });
}

}  // namespace
}  // namespace octet::bench

int main(int argc, char** argv) {
  try {
    octet::bench::run(octet::bench::read_arguments(
        argc, argv, "Measures training steps of a zoo network.",
        {"fp32", "qat", "qat_float", "qat_learned"}, false));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_step: %s\n", error.what());
    return 1;
  }
  return 0;
}
