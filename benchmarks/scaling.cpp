// Training steps of fit() on the ranks of mpirun: time per step, bytes sent and
// time in exchanges. --compute extrapolates to more machines; see README.md for
// the formula.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <octet/mpi.h>
#include <octet/octet.h>

namespace octet::bench {
namespace {

struct Arguments {
  std::string network = "resnet20";
  int64_t batch = 128;  // of all ranks together
  int64_t shards = 8;
  int64_t steps = 20;
  int threads = 1;
  bool synchronized = false;
  double compute = 0;   // ms per step of one machine; 0: no table
  double latency = 20;  // us per message
};

/// Records the time of each step except for the first ones, which fill the
/// arena.
class StepTimes final : public train::Callback {
 public:
  void on_step(const train::Progress& progress) override {
    const Clock::time_point now = Clock::now();
    if (progress.step > kWarm) {
      times_.push_back(
          std::chrono::duration<double, std::milli>(now - last_).count());
    }
    last_ = now;
  }
  double median() {
    std::ranges::sort(times_);
    return times_[times_.size() / 2];
  }
  static constexpr int64_t kWarm = 3;

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_;
  std::vector<double> times_;
};

/// Records the traffic per step, without that of the start of fit().
class StepTraffic final : public train::Callback {
 public:
  explicit StepTraffic(const train::Communicator& ranks) : ranks_(ranks) {}
  void on_step(const train::Progress& progress) override {
    if (progress.step == StepTimes::kWarm) first_ = ranks_.traffic();
    last_ = ranks_.traffic();
    steps_ = progress.step - StepTimes::kWarm;
  }
  train::Traffic mean() const {
    return {(last_.bytes - first_.bytes) / steps_,
            (last_.messages - first_.messages) / steps_,
            (last_.seconds - first_.seconds) / static_cast<double>(steps_)};
  }

 private:
  const train::Communicator& ranks_;
  train::Traffic first_;
  train::Traffic last_;
  int64_t steps_ = 1;
};

Dataset random_images(const Model& model, int64_t samples) {
  const Shape& one = model.inputs()[0].shape();
  Tensor inputs(one.with(0, samples));
  Rng(1).fill_normal(inputs, 0, 1);
  Tensor labels({samples}, DType::i64);
  const int64_t classes = model.outputs()[0].shape()[-1];
  for (int64_t i = 0; i < samples; ++i) {
    labels.data<int64_t>()[static_cast<size_t>(i)] = i % classes;
  }
  return Dataset(inputs, labels);
}

/// T(M) = C + k (M - 1) alpha + (2 (M - 1) / M P + (M - 1) g) / beta
void print_table(const Arguments& a, double parameter_bytes, double messages,
                 double report_bytes) {
  std::printf(
      "calculated, batch %lld per machine: ms per step (efficiency)\n"
      "| machines | 10 Gbit/s | 25 Gbit/s | 100 Gbit/s |\n|---|---|---|---|\n",
      static_cast<long long>(a.batch));
  for (int machines = 4; machines <= 256; machines *= 2) {
    std::printf("| %d |", machines);
    for (const double gigabits : {10.0, 25.0, 100.0}) {
      const double others = machines - 1;
      const double bytes =
          2 * others / machines * parameter_bytes + others * report_bytes;
      const double time = a.compute + messages * others * a.latency * 1e-3 +
                          bytes / (gigabits * 1e9 / 8) * 1e3;
      std::printf(" %.1f (%.0f %%) |", time, 100 * a.compute / time);
    }
    std::printf("\n");
  }
}

void run(const Arguments& a) {
  mpi::Communicator ranks;
  set_num_threads(a.threads);
  set_warning_sink([](const Warning&) {});
  Model model = zoo::make(a.network);
  double parameter_bytes = 0;
  for (const Variable& p : model.trainable_variables()) {
    parameter_bytes += static_cast<double>(p.shape().size() * 4);
  }
  const Dataset data = random_images(model, a.batch * a.steps);
  const auto times = std::make_shared<StepTimes>();
  const auto traffic = std::make_shared<StepTraffic>(ranks);
  train::fit(
      model, data,
      {.batch_size = a.batch,
       .optimizer = train::SGD({.learning_rate = 1e-4f}),
       .callbacks = {times, traffic},
       .verbose = false,
       .shards = a.shards,
       .batch_statistics = a.synchronized ? train::BatchStatistics::synchronized
                                          : train::BatchStatistics::per_shard,
       .communicator = &ranks});
  if (ranks.rank() != 0) return;
  const train::Traffic mean = traffic->mean();
  std::printf(
      "%s b%lld%s: %d ranks, %d threads each: %.1f ms per step, sent %.1f kB "
      "in %lld messages, %.2f ms in exchanges\n",
      a.network.c_str(), static_cast<long long>(a.batch),
      a.synchronized ? ", synchronized" : "", ranks.size(), a.threads,
      times->median(), 1e-3 * static_cast<double>(mean.bytes),
      static_cast<long long>(mean.messages), 1e3 * mean.seconds);
  if (a.compute == 0) return;
  if (ranks.size() == 1) {
    std::printf("--compute: needs at least 2 ranks, to measure messages\n");
    return;
  }
  const double others = ranks.size() - 1;
  const double gradients = 2 * others / ranks.size() * parameter_bytes;
  print_table(a, parameter_bytes, static_cast<double>(mean.messages) / others,
              (static_cast<double>(mean.bytes) - gradients) / others);
}

}  // namespace
}  // namespace octet::bench

int main(int argc, char** argv) {
  octet::bench::Arguments a;
  CLI::App app("Measures training steps on several ranks.");
  app.add_option("network", a.network, "network of the zoo");
  app.add_option("--batch", a.batch, "batch size of all ranks together");
  app.add_option("--shards", a.shards, "shards per batch");
  app.add_option("--steps", a.steps, "number of steps")
      ->check(CLI::Range(8, 10000));
  app.add_option("--threads", a.threads, "threads per rank");
  app.add_flag("--sync-batch-norm", a.synchronized,
               "batch statistics across shards");
  app.add_option("--compute", a.compute,
                 "compute time of one machine, ms per step");
  app.add_option("--latency", a.latency, "latency, us per message");
  CLI11_PARSE(app, argc, argv);
  try {
    octet::bench::run(a);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "scaling: %s\n", error.what());
    return 1;
  }
  return 0;
}
