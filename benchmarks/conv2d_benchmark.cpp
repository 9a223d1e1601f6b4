// Convolution: forward in FP32 and INT8, and forward with backward. Reports
// operations per second and the fraction of a core's peak, next to im2col with
// OpenBLAS if available. Single-threaded, to measure kernels.
#include <benchmark/benchmark.h>

#ifdef OCTET_OPENBLAS
#include <cblas.h>
#endif

#include <cstring>
#include <vector>

#include <octet/octet.h>
#include <octet/runtime/detail/program_capture.h>

#include "peak.h"

namespace octet {
namespace {

struct Conv {
  const char* name;
  int64_t n, h, w, c, k, kernel, stride;

  int64_t oh() const { return (h + stride - 1) / stride; }
  int64_t ow() const { return (w + stride - 1) / stride; }
  double flop() const {
    return 2.0 * static_cast<double>(n * oh() * ow() * k * kernel * kernel * c);
  }
  WindowOptions options() const {
    return {.strides{stride, stride},
            .pads = Padding::same.pads({h, w}, {kernel, kernel},
                                       {stride, stride}, {1, 1})};
  }
};

const Conv kConvs[] = {
    {"28x28x1_to_16", 64, 28, 28, 1, 16, 3, 1},
    {"14x14x16_to_32", 64, 14, 14, 16, 32, 3, 1},
    {"7x7x32_to_64", 64, 7, 7, 32, 64, 3, 1},
    {"32x32x16_to_16", 32, 32, 32, 16, 16, 3, 1},
    {"32x32x16_to_32_s2", 32, 32, 32, 16, 32, 3, 2},
    {"8x8x64_to_64", 32, 8, 8, 64, 64, 3, 1},
    {"8x8x256_to_64_1x1", 32, 8, 8, 256, 64, 1, 1},
    {"56x56x64_to_256_1x1", 1, 56, 56, 64, 256, 1, 1},
    {"28x28x128_to_128", 1, 28, 28, 128, 128, 3, 1},
    {"14x14x1024_to_256_1x1", 1, 14, 14, 1024, 256, 1, 1},
    {"7x7x512_to_512", 1, 7, 7, 512, 512, 3, 1},
};

Tensor random(const Shape& shape) {
  Rng rng(1);
  Tensor t(shape);
  rng.fill_normal(t, 0, 1);
  return t;
}

// Reports operations per second and the fraction of a core's peak.
void report(benchmark::State& state, double operations, double peak) {
  const auto rate = benchmark::Counter::kIsIterationInvariantRate;
  state.counters["op/s"] =
      benchmark::Counter(operations, rate, benchmark::Counter::kIs1000);
  if (peak > 0) {
    state.counters["of_peak"] = benchmark::Counter(operations / peak, rate);
  }
}

double flop_peak() {
  static const double peak = bench::peak_flops();
  return peak;
}

void forward(benchmark::State& state) {
  const SerialGuard serial;
  const NoGradGuard no_grad;
  const Conv& s = kConvs[state.range(0)];
  const Variable x(random({s.n, s.h, s.w, s.c}));
  const Variable w(random({s.kernel, s.kernel, s.c, s.k}));
  for (auto _ : state) {
    const Tensor y = conv2d(x, w, s.options()).value();
    benchmark::DoNotOptimize(y.raw());
  }
  state.SetLabel(s.name);
  report(state, s.flop(), flop_peak());
}

void forward_backward(benchmark::State& state) {
  const SerialGuard serial;
  const Conv& s = kConvs[state.range(0)];
  const Variable x(random({s.n, s.h, s.w, s.c}), true);
  const Variable w(random({s.kernel, s.kernel, s.c, s.k}), true);
  const Tensor dz = random({s.n, s.oh(), s.ow(), s.k});
  for (auto _ : state) {
    const Variable z = conv2d(x, w, s.options());
    record("loss", {z}, Tensor::scalar(0), [&](const Tensor&) {
      return std::vector{dz};
    }).backward();
    x.zero_grad();
    w.zero_grad();
  }
  state.SetLabel(s.name);
  report(state, 3 * s.flop(), flop_peak());
}

// Measures one step of a program, from bytes to bytes.
void forward_codes(benchmark::State& state) {
  const SerialGuard serial;
  const NoGradGuard no_grad;
  const Conv& s = kConvs[state.range(0)];
  const QuantParams image{
      .scale = Tensor::scalar(0.0213f), .low = -128, .high = 127};
  const QuantParams weight{.scale = Tensor::full({s.k}, 0.0187f),
                           .axis = 3,
                           .low = -127,
                           .high = 127};
  const Variable w(random({s.kernel, s.kernel, s.c, s.k}));
  const Program::Function net = [=](std::span<const Variable> in) {
    const Variable y = conv2d(fake_quantize(in[0], image),
                              fake_quantize(w, weight), s.options());
    // Its consumer makes the output INT8.
    return conv2d(fake_quantize(relu(y), image),
                  fake_quantize(Variable(random({1, 1, s.k, 1})), image));
  };
  ProgramCapture capture;
  const Variable in = capture.input({1, s.h, s.w, s.c});
  const Variable out = capture.call("net", {&in, 1}, net, [&] { return net; });
  const Program program = capture.finish({&out, 1});
  const Tensor x = random({s.n, s.h, s.w, s.c});
  Tensor y({s.n, s.oh(), s.ow(), 1});
  for (auto _ : state) {
    for (const ProgramStep& step : program.profile({&x, 1}, {&y, 1})) {
      if (step.op != "conv2d") continue;
      state.SetIterationTime(step.seconds);
      break;
    }
  }
  state.SetLabel(s.name);
  static const double peak = bench::peak_code_ops();
  report(state, s.flop(), peak);
}

#ifdef OCTET_OPENBLAS
// im2col and one matrix product per image.
void im2col_openblas(benchmark::State& state) {
  openblas_set_num_threads(1);
  const Conv& s = kConvs[state.range(0)];
  const Pads pads = s.options().pads;
  const Tensor x = random({s.n, s.h, s.w, s.c});
  const Tensor w = random({s.kernel, s.kernel, s.c, s.k});
  Tensor z({s.n, s.oh(), s.ow(), s.k});
  const int64_t depth = s.kernel * s.kernel * s.c;
  std::vector<float> columns(static_cast<size_t>(s.oh() * s.ow() * depth));
  for (auto _ : state) {
    for (int64_t n = 0; n < s.n; ++n) {
      const float* image = x.f32().data() + n * s.h * s.w * s.c;
      float* to = columns.data();
      for (int64_t i = 0; i < s.oh(); ++i)
        for (int64_t j = 0; j < s.ow(); ++j)
          for (int64_t p = 0; p < s.kernel; ++p)
            for (int64_t q = 0; q < s.kernel; ++q, to += s.c) {
              const int64_t h = i * s.stride + p - pads.top;
              const int64_t v = j * s.stride + q - pads.left;
              const size_t bytes = static_cast<size_t>(s.c) * sizeof(float);
              if (h < 0 || h >= s.h || v < 0 || v >= s.w) {
                std::memset(to, 0, bytes);
              } else {
                std::memcpy(to, image + (h * s.w + v) * s.c, bytes);
              }
            }
      cblas_sgemm(
          CblasRowMajor, CblasNoTrans, CblasNoTrans,
          static_cast<int>(s.oh() * s.ow()), static_cast<int>(s.k),
          static_cast<int>(depth), 1.0f, columns.data(),
          static_cast<int>(depth), w.f32().data(), static_cast<int>(s.k), 0.0f,
          z.f32().data() + n * s.oh() * s.ow() * s.k, static_cast<int>(s.k));
    }
    benchmark::ClobberMemory();
  }
  state.SetLabel(std::string(s.name) + ", " + openblas_get_corename());
  report(state, s.flop(), flop_peak());
}
BENCHMARK(im2col_openblas)->DenseRange(0, std::size(kConvs) - 1);
#endif

BENCHMARK(forward)->DenseRange(0, std::size(kConvs) - 1);
BENCHMARK(forward_codes)->DenseRange(0, std::size(kConvs) - 1)->UseManualTime();
BENCHMARK(forward_backward)->DenseRange(0, std::size(kConvs) - 1);

}  // namespace
}  // namespace octet
