// Tensors as in NumPy and PyTorch: arithmetic, printing, batches, state by
// name, and the search for the origin of a NaN.
#include <cmath>
#include <iostream>

#include <octet/octet.h>

using namespace octet;

namespace {

// Standardizes the columns of a table.
Tensor standardized(const Tensor& x) {
  const Tensor centered = x - mean(x, {0}, Keepdims::yes);
  return centered / sqrt(mean(square(centered), {0}, Keepdims::yes));
}

// Two classes of points, apart along the first column.
Dataset points(int64_t count) {
  Tensor x({count, 2});
  Rng(1).fill_normal(x, 0, 1);
  const Tensor labels = cast(greater(x.index({Slice(), 0}), 0), DType::i64);
  return {standardized(x), labels};
}

}  // namespace

int main() {
  const Dataset data = points(600);
  train::DataLoader loader(data, {.batch_size = 50, .shuffle = true});
  std::cout << "a batch of inputs\n" << (*loader.begin()).input()[0] << "\n";

  const SymbolicTensor x = input({2}, "point");
  Model model(x, Dense({.units = 2, .name = "head"})(
                     Dense({.units = 8, .activation = "relu"})(x)));
  std::cout << model << model.outputs()[0] << "\n";
  const train::History history =
      train::fit(model, data,
                 {.epochs = 3,
                  .optimizer = train::Adam({.learning_rate = 0.02f}),
                  .verbose = false,
                  .loss = train::losses::CrossEntropyLoss()});
  std::cout << history;

  // Computes with the predictions, without gradients.
  const Batch all = loader.dataset().batch(std::vector<int64_t>{0, 1, 2, 3});
  const Tensor logits = model.predict(all.input());
  std::cout << "probabilities\n"
            << to_string(softmax(logits), {.precision = 3}) << "\n"
            << "classes " << cast(argmax(logits), DType::i64) << "\n"
            << "labels  " << all.label() << "\n";

  // Writes a weight and looks for the layer that then fails.
  StateDict state = model.state_dict();
  for (const auto& [name, value] : state) {
    std::cout << name << " " << value.shape() << "\n";
  }
  state["head.kernel"] = state["head.kernel"] * 1e38f;
  model.load_state_dict(state);
  set_diagnostics({.check_nan = true});
  try {
    (void)model.predict(all.input() * 100);
  } catch (const Error& error) {
    std::cout << error.what() << "\n";
    return error.code() == "not_finite" ? 0 : 1;
  }
  return 1;
}
