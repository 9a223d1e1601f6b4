// Training steps and inference of the quickstart network, in images/s, on all
// threads: FP32, QAT, and QAT computed eagerly, op by op.
#include <benchmark/benchmark.h>

#include <octet/octet.h>

namespace octet {
namespace {

constexpr int64_t kBatch = 64;

Model network() {
  const auto block = [](SymbolicTensor x, int64_t filters) {
    x = Conv2D(
        {.filters = filters, .padding = Padding::same, .use_bias = false})(x);
    x = BatchNormalization()(x);
    return ReLU()(x);
  };
  const auto image = input({28, 28, 1});
  auto x = MaxPooling2D()(block(image, 16));
  x = MaxPooling2D()(block(x, 32));
  x = Flatten()(block(x, 64));
  return Model(image, Dense({.units = 10})(x), {.seed = 1});
}

Tensor images(int64_t n) {
  Rng rng(2);
  Tensor x({n, 28, 28, 1});
  rng.fill_uniform(x, 0, 1);
  return x;
}

Model quantized(const Model& model) {
  Model qat = quant::quantize_model(model);
  const Tensor x = images(64);
  quant::calibrate(qat, [&](const Model& m) { (void)m(Variable(x)); });
  quant::freeze_bn_stats(qat);
  return qat;
}

void run_steps(benchmark::State& state, Model model) {
  const Variable x(images(kBatch));
  Tensor labels = Tensor::zeros({kBatch}, DType::i64);
  for (int64_t i = 0; i < kBatch; ++i) {
    labels.data<int64_t>()[static_cast<size_t>(i)] = i % 10;
  }
  std::vector<Variable> parameters;
  for (const auto& layer : model.layers()) {
    for (const Parameter& p : layer->parameters()) {
      if (p.trainable) parameters.push_back(p.variable);
    }
  }
  train::Optimizer optimizer =
      train::SGD({.learning_rate = 1e-4f, .momentum = 0.9f});
  optimizer.attach(parameters);
  for (auto _ : state) {
    softmax_cross_entropy(model(x, Mode::training), labels).backward();
    optimizer.step();
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}

void fp32_step(benchmark::State& state) { run_steps(state, network()); }
void qat_step(benchmark::State& state) {
  run_steps(state, quantized(network()));
}
void qat_step_eager(benchmark::State& state) {
  const EagerGuard guard;
  run_steps(state, quantized(network()));
}

void run_inference(benchmark::State& state, const Model& model) {
  const Tensor x = images(256);
  for (auto _ : state) {
    const Tensor y = model.predict(x);
    benchmark::DoNotOptimize(y.raw());
  }
  state.SetItemsProcessed(state.iterations() * 256);
}
void fp32_inference(benchmark::State& state) {
  run_inference(state, network());
}
void int8_inference(benchmark::State& state) {
  run_inference(state, quantized(network()));
}

BENCHMARK(fp32_step)->UseRealTime();
BENCHMARK(qat_step)->UseRealTime();
BENCHMARK(qat_step_eager)->UseRealTime();
BENCHMARK(fp32_inference)->UseRealTime();
BENCHMARK(int8_inference)->UseRealTime();

}  // namespace
}  // namespace octet
