// A custom loss: the focal loss (Lin et al., arXiv 1708.02002), which weights
// samples by the error of their prediction. Trained in float, then in INT8.
#include <iostream>

#include <octet/octet.h>

using namespace octet;

namespace {

// Returns rows with a 1 at the label, [n,classes].
Tensor one_hot(const Tensor& labels, int64_t classes) {
  Tensor rows = Tensor::zeros({labels.shape()[0], classes});
  for (int64_t i = 0; i < labels.size(); ++i) {
    const int64_t label = labels.data<int64_t>()[static_cast<size_t>(i)];
    rows.f32()[static_cast<size_t>(i * classes + label)] = 1;
  }
  return rows;
}

// Returns -(1-p)^2 log(p) for each sample, [n]; p: probability of the label.
Variable focal(const Variable& logits, const Batch& batch) {
  const Variable labels(one_hot(batch.label(), logits.shape()[1]));
  const Variable log_p = sum(log_softmax(logits) * labels, {1});
  return negate(square(1 - exp(log_p)) * log_p);
}

}  // namespace

int main() try {
  auto [train_set, test_set] = io::fashion_mnist();
  const train::Loss loss("focal", focal);

  Model model = zoo::lenet({.seed = 1});
  train::fit(
      model, train_set.take(20000),
      {.epochs = 2, .loss = loss, .metrics = {train::metrics::accuracy()}});
  const train::EvaluateOptions options{.loss = loss,
                                       .metrics = {train::metrics::accuracy()}};
  std::cout << "float: " << train::evaluate(model, test_set, options) << '\n';

  Model int8 = quant::quantize_model(model);
  quant::calibrate(int8, train_set, {.samples = 1024});
  quant::prepare_qat(int8);
  train::fit(int8, train_set.take(20000),
             {.optimizer = train::Adam({.learning_rate = 1e-4f}),
              .loss = loss,
              .metrics = {train::metrics::accuracy()}});
  std::cout << "INT8: " << train::evaluate(int8, test_set, options) << '\n';
} catch (const Error& error) {
  std::cerr << "error: " << error.what() << '\n';
  return 1;
}
