#include "timing.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/resource.h>

#include "detector.h"
#include "peak.h"

namespace octet::bench {
namespace {

double seconds_of(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

double peak_rss_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

}  // namespace

Arguments read_arguments(int argc, char** argv, const std::string& description,
                         const std::vector<std::string>& modes, bool files) {
  Arguments a;
  CLI::App app(description);
  app.add_option(
         "--model", a.model,
         files ? "network of the zoo, or detector" : "network of the zoo")
      ->capture_default_str();
  app.add_option("--mode", a.mode, "measured variant")
      ->check(CLI::IsMember(modes))
      ->capture_default_str();
  app.add_option("--batch", a.batch, "images per run")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--threads", a.threads, "number of threads; 0: all cores")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app.add_option("--seconds", a.seconds, "minimum duration in seconds")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  if (files) {
    app.add_option("--write", a.write,
                   "output file for the network, .onnx or .h5");
    app.add_option("--load", a.load,
                   "load the network from this .h5 file; peak memory is then "
                   "that of a deployed program");
  }
  app.add_flag("--json", a.json, "print one line of JSON at the end");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  if (a.threads > 0) set_num_threads(a.threads);
  return a;
}

Model network(const std::string& name) {
  return name == "detector" ? detector() : zoo::make(name);
}

Tensor images(const Shape& sample, int64_t n) {
  std::vector<int64_t> dims{n};
  dims.insert(dims.end(), sample.dims().begin(), sample.dims().end());
  Rng rng(2);
  Tensor x{Shape(std::span<const int64_t>(dims))};
  rng.fill_uniform(x, 0, 1);
  return x;
}

Model quantized(const std::string& name,
                const quant::QuantizeOptions& options) {
  // The float network is released before weights are packed.
  Model result = quant::quantize_model(network(name), options);
  const Shape in = result.inputs()[0].shape();
  const Tensor x = images(in.slice(1, in.rank()), 8);
  quant::calibrate(result, [&](const Model& m) {
    for (int64_t i = 0; i < x.shape()[0]; ++i) {
      (void)m(Variable(x.slice(i, 1)));
    }
  });
  return result;
}

double operations(const Model& model) {
  int64_t sum = 0;
  for (const NodeSize& size : model.sizes()) sum += size.multiply_adds;
  return 2.0 * static_cast<double>(sum);
}

void report(const Arguments& a, double operations,
            const std::function<void()>& body) {
  body();
  body();
  std::vector<double> times;
  double total = 0;
  while (times.size() < 5 || total < a.seconds) {
    times.push_back(seconds_of(body));
    total += times.back();
  }
  std::ranges::sort(times);
  const double median = times[times.size() / 2];
  const double p99 = times[(times.size() - 1) * 99 / 100];
  const double rate = static_cast<double>(a.batch) / median;
  const double gflops = operations / median * 1e-9;
  const double peak =
      (a.mode == "int8" ? peak_code_ops() : peak_flops()) * 1e-9;
  if (a.json) {
    fmt::print(
        "{{\"model\": \"{}\", \"mode\": \"{}\", \"batch\": {}, \"threads\": "
        "{}, "
        "\"isa\": \"{}\", \"images_per_second\": {:.1f}, \"ms_median\": "
        "{:.3f}, "
        "\"ms_best\": {:.3f}, \"ms_p99\": {:.3f}, \"gflops\": {:.1f}, "
        "\"peak_gflops_a_core\": {:.1f}, \"peak_rss_mb\": {:.1f}}}\n",
        a.model, a.mode, a.batch, num_threads(), to_string(active_isa()), rate,
        median * 1e3, times.front() * 1e3, p99 * 1e3, gflops, peak,
        peak_rss_mb());
    return;
  }
  fmt::print(
      "{} {}, batch {}, {} threads, {}: {:.1f} images/s, median {:.2f} ms, "
      "p99 {:.2f} ms, best {:.2f} ms of {} runs, {:.0f} GFLOP/s (peak {:.0f} "
      "per core), {:.0f} MB\n",
      a.model, a.mode, a.batch, num_threads(), to_string(active_isa()), rate,
      median * 1e3, p99 * 1e3, times.front() * 1e3, times.size(), gflops, peak,
      peak_rss_mb());
}

}  // namespace octet::bench
