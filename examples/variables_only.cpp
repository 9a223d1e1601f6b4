// A training loop without layers: Variables, ops and custom arithmetic.
// Two interleaved spirals, a network of 2-32-32-2, momentum by hand.
#include <cmath>
#include <iostream>
#include <numbers>
#include <vector>

#include <octet/octet.h>

using namespace octet;

namespace {

// Returns noisy points on two spirals, labeled by spiral.
Batch spirals(int64_t count, Rng rng) {
  Batch batch{Tensor({count, 2}), Tensor({count}, DType::i64)};
  for (int64_t i = 0; i < count; ++i) {
    const int64_t arm = i % 2;
    const float t = 0.1f + 0.9f * rng.uniform();
    const float angle =
        std::numbers::pi_v<float> * (3.0f * t + static_cast<float>(arm));
    const auto at = static_cast<size_t>(2 * i);
    batch.input().f32()[at] = t * std::cos(angle) + 0.02f * rng.normal();
    batch.input().f32()[at + 1] = t * std::sin(angle) + 0.02f * rng.normal();
    batch.label().data<int64_t>()[static_cast<size_t>(i)] = arm;
  }
  return batch;
}

struct Network {
  std::vector<Variable> parameters;  // kernel, bias, kernel, bias, ...

  explicit Network(const std::vector<int64_t>& widths) {
    Rng rng(1);
    for (size_t i = 0; i + 1 < widths.size(); ++i) {
      Tensor kernel({widths[i], widths[i + 1]});
      rng.fill_normal(kernel, 0,
                      std::sqrt(2.0f / static_cast<float>(widths[i])));
      parameters.emplace_back(kernel, true);
      parameters.emplace_back(Tensor::zeros({widths[i + 1]}), true);
    }
  }

  Variable operator()(const Variable& x) const {
    Variable y = x;
    for (size_t i = 0; i < parameters.size(); i += 2) {
      if (i > 0) y = relu(y);
      y = bias_add(dense(y, parameters[i]), parameters[i + 1]);
    }
    return y;
  }
};

double accuracy(const Network& network, const Batch& batch) {
  const NoGradGuard no_grad;
  const Tensor logits = network(batch.input()).value();
  const auto labels = batch.label().data<int64_t>();
  int64_t right = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto row = logits.f32().subspan(2 * i, 2);
    right += (row[1] > row[0]) == (labels[i] == 1) ? 1 : 0;
  }
  return static_cast<double>(right) / static_cast<double>(labels.size());
}

}  // namespace

int main() try {
  const Network network({2, 32, 32, 2});
  std::vector<Tensor> velocity;
  for (const Variable& p : network.parameters) {
    velocity.push_back(Tensor::zeros(p.shape()));
  }
  for (int64_t step = 1; step <= 1500; ++step) {
    const Batch batch = spirals(128, Rng(2).child(static_cast<uint64_t>(step)));
    const Variable loss =
        softmax_cross_entropy(network(batch.input()), batch.label());
    loss.backward();
    for (size_t i = 0; i < velocity.size(); ++i) {
      const Variable& p = network.parameters[i];
      const auto w = p.mutable_value();
      const auto v = velocity[i].f32();
      for (size_t k = 0; k < w.size(); ++k) {
        v[k] = 0.9f * v[k] + p.grad().f32()[k];
        w[k] -= 0.05f * v[k];
      }
      p.zero_grad();
    }
    if (step % 300 == 0) {
      std::cout << "step " << step << "  loss " << loss.item() << '\n';
    }
  }
  const double right = accuracy(network, spirals(2000, Rng(3)));
  std::cout << "accuracy on new points: " << 100 * right << " %\n";
  return right > 0.98 ? 0 : 1;
} catch (const Error& error) {
  std::cerr << "error: " << error.what() << '\n';
  return 1;
}
