#include "session_timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include <octet/io/json.h>
#include <octet/runtime/detail/text_table.h>
#include <octet/runtime/error.h>
#include <octet/runtime/system.h>

#include "random_samples.h"
#include "session_report.h"

namespace octet::program {
namespace {

Times latency_of(const InferenceSession& session, std::span<const Tensor> x,
                 double at_least) {
  using Clock = std::chrono::steady_clock;
  constexpr size_t kFewest = 20;
  std::vector<double> all;
  double total = 0;
  (void)session.run(x);  // allocates memory
  (void)session.run(x);
  while (all.size() < kFewest || total < at_least) {
    const auto begin = Clock::now();
    (void)session.run(x);
    all.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    total += all.back();
  }
  std::ranges::sort(all);
  const double last = static_cast<double>(all.size() - 1);
  const auto share = [&](double s) {
    return all[static_cast<size_t>(std::lround(s * last))];
  };
  return {share(0.5), share(0.99), all.front(),
          static_cast<int64_t>(all.size())};
}

// Returns the minimum time of each step over several runs.
std::vector<ProgramStep> profile(const InferenceSession& session,
                                 std::span<const Tensor> x) {
  constexpr int kRuns = 10;
  std::vector<ProgramStep> best = session.profile(x);
  for (int i = 1; i < kRuns; ++i) {
    const std::vector<ProgramStep> again = session.profile(x);
    for (size_t s = 0; s < best.size(); ++s) {
      best[s].seconds = std::min(best[s].seconds, again[s].seconds);
    }
  }
  return best;
}

double giga_operations(int64_t multiply_adds, int64_t batch, double seconds) {
  return 2e-9 * static_cast<double>(multiply_adds * batch) / seconds;
}

std::string mebibytes(int64_t bytes) {
  return fmt::format("{:.2f} MiB", static_cast<double>(bytes) / (1 << 20));
}

int64_t multiply_adds(const std::vector<ProgramStep>& steps) {
  int64_t sum = 0;
  for (const ProgramStep& step : steps) sum += step.multiply_adds;
  return sum;
}

std::string measured_json(const InferenceSession& session,
                          const Measurement& what, const Times& times) {
  const double batch = static_cast<double>(what.batch);
  Config::List list;
  for (const ProgramStep& step : times.steps) {
    list.push_back(to_config(step).set("ms", 1e3 * step.seconds));
  }
  const Config result = Config()
                            .set("network", what.network)
                            .set("int8", what.int8)
                            .set("batch", what.batch)
                            .set("threads", what.threads)
                            .set("isa", to_string(active_isa()))
                            .set("runs", times.runs)
                            .set("ms_median", 1e3 * times.median)
                            .set("ms_p99", 1e3 * times.p99)
                            .set("ms_best", 1e3 * times.best)
                            .set("samples_per_second", batch / times.median)
                            .set("giga_operations_per_second",
                                 giga_operations(multiply_adds(times.steps),
                                                 what.batch, times.median))
                            .set("weight_bytes", session.weight_bytes())
                            .set("activation_bytes", session.activation_bytes())
                            .set("steps", list);
  return io::to_json(result) + "\n";
}

std::string measured_text(const InferenceSession& session,
                          const Measurement& what, const Times& times) {
  const double batch = static_cast<double>(what.batch);
  std::string text = fmt::format(
      "{}, {}, batch {}, {} thread{}, {}\n\n"
      "latency     {:.3f} ms median, {:.3f} ms p99, {:.3f} ms best of {}\n"
      "throughput  {:.1f} samples/s, {:.1f} G{}/s\n"
      "memory      {} of weights, {} of activations per sample\n\n",
      what.network, what.int8 ? "INT8" : "FP32", what.batch, what.threads,
      what.threads == 1 ? "" : "s", to_string(active_isa()), 1e3 * times.median,
      1e3 * times.p99, 1e3 * times.best, times.runs, batch / times.median,
      giga_operations(multiply_adds(times.steps), what.batch, times.median),
      what.int8 ? "OP" : "FLOP", mebibytes(session.weight_bytes()),
      mebibytes(session.activation_bytes()));
  double total = 0;
  for (const ProgramStep& step : times.steps) total += step.seconds;
  TextTable table({Align::left, Align::left, Align::left, Align::left,
                   Align::left, Align::right, Align::right, Align::right});
  table.add_row({"layer", "op", "inputs", "fused", "output", "us", "%",
                 what.int8 ? "GOP/s" : "GFLOP/s"});
  table.add_rule();
  for (const ProgramStep& step : times.steps) {
    const double rate =
        giga_operations(step.multiply_adds, what.batch, step.seconds);
    table.add_row({step.name, step.op, step.reads, step.fused, step.stores,
                   fmt::format("{:.1f}", 1e6 * step.seconds),
                   fmt::format("{:.1f}", 100 * step.seconds / total),
                   step.multiply_adds == 0 ? "" : fmt::format("{:.0f}", rate)});
  }
  return text + table.to_string();
}

}  // namespace

void trace_runs(const InferenceSession& session, const Model& model,
                int64_t batch, const std::string& file) {
  constexpr int kTraced = 10;
  const std::vector<Tensor> x = random_samples(model, batch);
  (void)session.run(x);
  const DiagnosticOptions before = diagnostics();
  set_diagnostics({.trace = "ops", .trace_file = file});
  for (int i = 0; i < kTraced; ++i) (void)session.run(x);
  set_diagnostics(before);
}

Times times_of(const InferenceSession& session, const Model& model,
               const Measurement& what) {
  const std::vector<Tensor> x = random_samples(model, what.batch);
  Times times = latency_of(session, x, what.seconds);
  times.steps = profile(session, x);
  return times;
}

std::optional<double> session_milliseconds(const Model& model,
                                           const SessionOptions& options) {
  constexpr double kSeconds = 0.3;
  try {
    const InferenceSession session(model, options);
    return 1e3 * latency_of(session, random_samples(model, 1), kSeconds).median;
  } catch (const UnsupportedError&) {
    return {};
  }
}

std::string times_text(const InferenceSession& session, const Measurement& what,
                       const Times& times, bool json) {
  return json ? measured_json(session, what, times)
              : measured_text(session, what, times);
}

}  // namespace octet::program
