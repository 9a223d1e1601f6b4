// Depthwise convolution: forward, and forward with backward. Reports GFLOP/s,
// the fraction of the peak, and GB/s, next to plain loops. Shapes of
// MobileNetV1 0.25 with 96x96 images. Single-threaded, to measure kernels.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include <octet/octet.h>

#include "peak.h"

namespace octet {
namespace {

struct Depthwise {
  int64_t size, c, stride;

  static constexpr int64_t n = 32;
  static constexpr int64_t kernel = 3;

  int64_t out() const { return (size + stride - 1) / stride; }
  Shape x() const { return {n, size, size, c}; }
  Shape w() const { return {kernel, kernel, c, 1}; }
  Shape z() const { return {n, out(), out(), c}; }
  double flop() const {
    return 2.0 * static_cast<double>(z().size() * kernel * kernel);
  }
  double bytes() const {
    return static_cast<double>((x().size() + z().size()) * 4);
  }
  std::string name() const {
    return std::to_string(size) + "x" + std::to_string(size) + "x" +
           std::to_string(c) + (stride == 1 ? "" : "_s2");
  }
  WindowOptions options() const {
    return {.strides{stride, stride},
            .pads = Padding::same.pads({size, size}, {kernel, kernel},
                                       {stride, stride}, {1, 1})};
  }
};

const Depthwise kShapes[] = {
    {48, 8, 1},  {48, 16, 2}, {24, 32, 1}, {24, 32, 2}, {12, 64, 1},
    {12, 64, 2}, {6, 128, 1}, {6, 128, 2}, {3, 256, 1},
};

Tensor random(const Shape& shape) {
  Rng rng(1);
  Tensor t(shape);
  rng.fill_normal(t, 0, 1);
  return t;
}

// Reports GFLOP/s, and GB/s of input and output images, each counted once.
void report(benchmark::State& state, const Depthwise& s, double passes) {
  state.SetLabel(s.name());
  for (const auto& [name, amount] :
       {std::pair{"FLOP/s", s.flop()}, std::pair{"B/s", s.bytes()}}) {
    state.counters[name] = benchmark::Counter(
        passes * amount, benchmark::Counter::kIsIterationInvariantRate,
        benchmark::Counter::kIs1000);
  }
  static const double peak = bench::peak_flops();
  if (peak > 0) {
    state.counters["of_peak"] =
        benchmark::Counter(passes * s.flop() / peak,
                           benchmark::Counter::kIsIterationInvariantRate);
  }
}

void forward(benchmark::State& state) {
  const SerialGuard serial;
  const NoGradGuard no_grad;
  const Depthwise& s = kShapes[state.range(0)];
  const Variable x(random(s.x()));
  const Variable w(random(s.w()));
  for (auto _ : state) {
    const Tensor y = depthwise_conv2d(x, w, s.options()).value();
    benchmark::DoNotOptimize(y.raw());
  }
  report(state, s, 1);
}

void forward_backward(benchmark::State& state) {
  const SerialGuard serial;
  const Depthwise& s = kShapes[state.range(0)];
  const Variable x(random(s.x()), true);
  const Variable w(random(s.w()), true);
  const Tensor dz = random(s.z());
  for (auto _ : state) {
    const Variable z = depthwise_conv2d(x, w, s.options());
    record("loss", {z}, Tensor::scalar(0), [&](const Tensor&) {
      return std::vector{dz};
    }).backward();
    x.zero_grad();
    w.zero_grad();
  }
  report(state, s, 3);
}

void plain_loops(benchmark::State& state) {
  const Depthwise& s = kShapes[state.range(0)];
  const Pads pads = s.options().pads;
  const Tensor x = random(s.x());
  const Tensor w = random(s.w());
  Tensor z(s.z());
  const float* kernel = w.f32().data();
  for (auto _ : state) {
    float* out = z.f32().data();
    for (int64_t n = 0; n < s.n; ++n)
      for (int64_t i = 0; i < s.out(); ++i)
        for (int64_t j = 0; j < s.out(); ++j, out += s.c) {
          std::fill_n(out, s.c, 0.0f);
          for (int64_t p = 0; p < s.kernel; ++p)
            for (int64_t q = 0; q < s.kernel; ++q) {
              const int64_t h = i * s.stride + p - pads.top;
              const int64_t v = j * s.stride + q - pads.left;
              if (h < 0 || h >= s.size || v < 0 || v >= s.size) continue;
              const float* from =
                  x.f32().data() + ((n * s.size + h) * s.size + v) * s.c;
              const float* weights = kernel + (p * s.kernel + q) * s.c;
              for (int64_t c = 0; c < s.c; ++c) out[c] += from[c] * weights[c];
            }
        }
    benchmark::ClobberMemory();
  }
  report(state, s, 1);
}

BENCHMARK(forward)->DenseRange(0, std::size(kShapes) - 1);
BENCHMARK(forward_backward)->DenseRange(0, std::size(kShapes) - 1);
BENCHMARK(plain_loops)->DenseRange(0, std::size(kShapes) - 1);

}  // namespace
}  // namespace octet
