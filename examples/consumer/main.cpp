// Trains a network on two point clouds with an installed Octet.
#include <iostream>

#include <octet/octet.h>

int main() {
  using namespace octet;
  const int64_t n = 200;
  Tensor points({n, 2});
  Tensor labels({n}, DType::i64);
  Rng rng(1);
  for (int64_t i = 0; i < n; ++i) {
    const auto row = static_cast<size_t>(i);
    labels.data<int64_t>()[row] = i % 2;
    for (size_t k = 0; k < 2; ++k) {
      points.f32()[2 * row + k] = rng.normal() + (i % 2 == 0 ? 2.0f : -2.0f);
    }
  }
  const Dataset data(points, labels);

  const auto x = input({2});
  const auto hidden = ReLU()(Dense({.units = 8})(x));
  Model model(x, Dense({.units = 2})(hidden));
  train::fit(model, data,
             {.epochs = 5, .optimizer = train::Adam({.learning_rate = 0.02f})});
  const train::Evaluation result = train::evaluate(model, data);
  std::cout << "octet " << version() << ": " << result << '\n';
  return result.accuracy > 0.95 ? 0 : 1;
}
