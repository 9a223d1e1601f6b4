// Model::predict: runs a program for large batches, else chunks of samples in
// parallel.
#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/model.h>
#include <octet/runtime/detail/exact_floats.h>
#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>

#include "model/input.h"
#include "model/model_program.h"
#include "model/program_cache.h"

namespace octet {
namespace {

// Returns the number of samples per chunk of a batch of n. A thread runs a
// chunk through the whole graph; chunks are small enough that the outputs of
// two adjacent nodes fit in its cache. With fewer samples than threads, a
// single chunk is used and the ops share the threads.
int64_t predict_chunk(std::span<const std::shared_ptr<const GraphNode>> nodes,
                      int64_t n) {
  constexpr int64_t kCacheFloats = int64_t{1} << 18;  // 1 MiB
  constexpr int64_t kMost = 8;
  int64_t largest = 1;
  for (const auto& node : nodes) {
    largest = std::max(largest, node->shape.with(0, 1).size());
  }
  const int64_t threads = available_threads();
  if (n < threads) return n;
  const int64_t most = std::min(kMost, n / threads);
  return std::clamp<int64_t>(kCacheFloats / largest, 1, most);
}

// Minimum batch size for which predict() compiles a program.
constexpr int64_t kProgramSamples = 16;

}  // namespace

Tensor Model::predict(const Tensor& x) const {
  expect_one_output();
  return predict(std::span(&x, 1))[0];
}

std::vector<Tensor> Model::predict(std::span<const Tensor> given) const {
  expect_inputs(given.size());
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < given.size(); ++i) {
    inputs.push_back(exact_floats(given[i], inputs_[i].node->layer->name()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].empty()) {
      throw ValueError("missing_value", "predict", "no tensor given");
    }
    const GraphNode& node = *inputs_[i].node;
    expect_fits(inputs[i], node.shape, node.layer->name());
    if (inputs[i].shape()[0] != inputs[0].shape()[0]) {
      throw ShapeError(
          "shape_mismatch", "inputs",
          fmt::format("must have equal numbers of samples, got {} and {}",
                      inputs[0].shape()[0], inputs[i].shape()[0]));
    }
  }
  const int64_t n = inputs[0].shape()[0];
  std::vector<Tensor> results;
  std::vector<float*> to;
  for (const SymbolicTensor& output : outputs_) {
    to.push_back(results.emplace_back(output.shape().with(0, n)).f32().data());
  }
  // Observing layers need the whole batch at once.
  const bool observing = std::ranges::any_of(
      layers_, [](const auto& layer) { return layer->observing(); });
  if (!observing && n >= kProgramSamples) {
    const auto program = programs_->program_of(*this, inputs);
    if (program != nullptr && program->run(inputs, results)) return results;
  }
  const int64_t size = observing ? n : predict_chunk(nodes_, n);
  const int64_t chunks = (n + size - 1) / size;
  const auto run_chunk = [&](int64_t chunk) {
    const NoGradGuard no_grad;
    const int64_t begin = chunk * size;
    const int64_t count = std::min(size, n - begin);
    std::vector<Variable> x;
    for (const Tensor& input : inputs)
      x.emplace_back(input.slice(begin, count));
    const std::vector<Variable> y = run(x, {});
    for (size_t i = 0; i < y.size(); ++i) {
      const Tensor& part = y[i].value();
      std::memcpy(to[i] + begin * (part.size() / count), part.raw(),
                  static_cast<size_t>(part.bytes()));
    }
  };
  if (chunks == 1) {
    run_chunk(0);
  } else {
    parallel_for(chunks, run_chunk);
  }
  return results;
}

}  // namespace octet
