#include "plan_executor.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>

#include "autograd/observe.h"
#include "observe_step.h"
#include "parallel_region.h"
#include "run.h"

namespace octet::inference {
namespace {

constexpr int64_t kMostSamples = 8;  // per chunk

// Returns the number of samples that pass all steps together: few enough for
// their activations to stay in a core's cache, or all, one step after another
// on all threads.
int64_t chunk_of(const Program::Plan& plan, int64_t n, int64_t threads) {
  constexpr int64_t kCache = int64_t{1} << 20;
  if (n < threads) return n;
  return std::clamp<int64_t>(kCache / std::max<int64_t>(1, plan.block), 1,
                             std::min(kMostSamples, n / threads));
}

void expect_own_table(const Program::Plan& plan) {
  if (&kernels::table() == plan.table) return;
  throw ValueError(
      "invalid_state", "program",
      "the active instruction set differs from that of the capture. Hint: "
      "create the program or session after set_active_isa()");
}

bool run_chunk(const Program::Plan& plan, std::span<const Tensor> inputs,
               std::span<Tensor> outputs, int64_t first, int64_t count,
               std::vector<double>* seconds) {
  const NoGradGuard no_grad;
  const ParallelRegion region;
  Run run(plan, count, plan.lasting->of(plan, count));
  if (run.nan()) return false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    run.bind(plan.inputs[i], inputs[i].slice(first, count));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (plan.direct[i]) {
      run.bind(plan.outputs[i], outputs[i].slice(first, count));
    }
  }
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    if (plan.steps[i].lasting) continue;
    const auto begin = std::chrono::steady_clock::now();
    run.step(plan.steps[i]);
    if (autograd::observing()) observe_step(run, plan.steps[i], begin);
    if (run.nan()) return false;
    if (seconds != nullptr) {
      const std::chrono::duration<double> took =
          std::chrono::steady_clock::now() - begin;
      (*seconds)[i] += took.count();
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (plan.direct[i]) continue;
    const Tensor& from = run.tensor(plan.outputs[i]);
    Tensor to = outputs[i].slice(first, count);
    std::memcpy(to.raw(), from.raw(), static_cast<size_t>(from.bytes()));
  }
  return true;
}

}  // namespace

bool time_plan(const Program::Plan& plan, std::span<const Tensor> inputs,
               std::span<Tensor> outputs, std::vector<double>& seconds) {
  expect_own_table(plan);
  return run_chunk(plan, inputs, outputs, 0, inputs[0].shape()[0], &seconds);
}

void reserve(const Program::Plan& plan, int64_t most) {
  if (most < 1) {
    throw ValueError(
        "out_of_range", "reserve",
        fmt::format("number of samples must be at least 1, got {}", most));
  }
  const int64_t threads = available_threads();
  std::vector<Workspaces::Blocks> blocks;
  const auto add = [&](int64_t count, int64_t samples) {
    blocks.push_back({count, Run::floats_of(plan, samples)});
  };
  int64_t largest = 0;
  if (threads > 1) {
    largest = std::min(most, threads - 1);
    add(1, largest);
  }
  if (most >= threads) {  // one chunk per thread
    const int64_t n = std::min(most, kMostSamples * threads);
    const int64_t chunk = chunk_of(plan, n, threads);
    largest = std::max(largest, chunk);
    add(threads, chunk);
  }
  plan.workspaces->reserve(blocks, plan.storages.size());
  (void)plan.lasting->of(plan, largest);
}

bool run_plan(const Program::Plan& plan, std::span<const Tensor> inputs,
              std::span<Tensor> outputs) {
  expect_own_table(plan);
  const int64_t n = inputs[0].shape()[0];
  const int64_t size = chunk_of(plan, n, available_threads());
  const int64_t chunks = (n + size - 1) / size;
  std::atomic<bool> sound = true;
  const auto run = [&](int64_t chunk) {
    const int64_t first = chunk * size;
    if (!run_chunk(plan, inputs, outputs, first, std::min(size, n - first),
                   nullptr)) {
      sound = false;
    }
  };
  if (chunks == 1) {
    run(0);
  } else {
    parallel_for(chunks, run);
  }
  return sound;
}

}  // namespace octet::inference
