#include <chrono>

#include <fmt/format.h>

#include <octet/layers/activation_memory.h>
#include <octet/layers/inference_session.h>
#include <octet/runtime/error.h>
#include <octet/runtime/memory.h>
#include <octet/runtime/parallel.h>
#include <octet/runtime/rng.h>

#include "model_program.h"

namespace octet {
namespace {

constexpr int64_t kTriedSamples = 2;

void check_limits(const Model& model, const SessionOptions& options) {
  if (options.memory_limit < 0 || !(options.time_limit >= 0)) {
    throw ValueError(
        fmt::format("memory_limit and time_limit must not be negative, got {} "
                    "bytes and {} s",
                    options.memory_limit, options.time_limit));
  }
  if (options.memory_limit == 0) return;
  const ActivationMemory memory = activation_memory(model);
  if (memory.bytes <= options.memory_limit / kTriedSamples) return;
  constexpr int64_t kMiB = int64_t{1} << 20;
  throw ValueError(fmt::format(
      "activations of {} samples need {} MiB, the limit is {} MiB; the largest "
      "are those {}, {}. Hint: if the model can be trusted, raise "
      "SessionOptions::memory_limit (octet: --memory-limit)",
      kTriedSamples, memory.bytes / kMiB * kTriedSamples,
      options.memory_limit / kMiB, memory.largest->layer->describe(),
      memory.largest->shape.to_string()));
}

/// Throws once the time is over; empty without a limit.
LayerCheck deadline_of(const SessionOptions& options) {
  if (!(options.time_limit > 0)) return {};
  const auto start = std::chrono::steady_clock::now();
  return [start, limit = options.time_limit] {
    const std::chrono::duration<double> taken =
        std::chrono::steady_clock::now() - start;
    if (taken.count() <= limit) return;
    throw ValueError(fmt::format(
        "making the session took more than {} s. Hint: if the model can be "
        "trusted, raise SessionOptions::time_limit (octet: --time-limit)",
        limit));
  };
}

}  // namespace

InferenceSession::InferenceSession(const Model& model,
                                   const SessionOptions& options)
    : InferenceSession(model, options, deadline_of(options)) {}

InferenceSession::InferenceSession(const Model& model,
                                   const SessionOptions& options,
                                   const std::function<void()>& late)
    : name_(model.name()),
      options_(options),
      program_(with_context(
          [&] { return fmt::format("in a session of '{}'", model.name()); },
          [&] {
            if (options.threads < 0) {
              throw ValueError(
                  fmt::format("threads: expected at least 1, or 0 for all, "
                              "got {}",
                              options.threads));
            }
            check_limits(model, options);
            if (options.max_batch < 0) {
              throw ValueError(
                  fmt::format("max_batch: expected at least 1, or 0 for any "
                              "number of samples, got {}",
                              options.max_batch));
            }
            release_memory();  // what reading the model took
            Program program = make_program(model, CalledLayers::copies, late);
            release_memory();  // and capturing it
            return program;
          })) {
  for (const SymbolicTensor& input : model.inputs()) {
    input_names_.push_back(input.node->layer->name());
    input_shapes_.push_back(input.shape());
  }
  for (const SymbolicTensor& output : model.outputs()) {
    output_shapes_.push_back(output.shape());
  }
  std::vector<Tensor> x;
  Rng rng(1);
  for (const Shape& shape : input_shapes_) {
    rng.fill_uniform(x.emplace_back(shape.with(0, kTriedSamples)), -1, 1);
  }
  const bool same =
      with_context([&] { return fmt::format("in a session of '{}'", name_); },
                   [&] { return gives_bits_of(program_, model, x, late); });
  if (!same) {
    throw UnsupportedError(fmt::format(
        "in a session of '{}': expected the numbers of the model, got others. "
        "Hint: a layer that looks at values, or at how many samples there are, "
        "cannot be part of a session; use predict()",
        name_));
  }
  // What the model took to answer: more than the session takes.
  release_memory();
  if (options_.max_batch == 0) return;
  const ThreadLimit limit(options_.threads);
  program_.reserve(options_.max_batch);
}

std::vector<Tensor> InferenceSession::outputs_for(
    std::span<const Tensor> inputs) const {
  if (inputs.size() != input_shapes_.size()) {
    throw ValueError(fmt::format("model '{}': expected {} inputs, got {}",
                                 name_, input_shapes_.size(), inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    expect_fits(inputs[i], input_shapes_[i], input_names_[i]);
    if (inputs[i].shape()[0] != inputs[0].shape()[0]) {
      throw ShapeError(
          fmt::format("run: expected one number of samples, got {} and {}",
                      inputs[0].shape()[0], inputs[i].shape()[0]));
    }
  }
  const int64_t samples = inputs[0].shape()[0];
  if (options_.max_batch > 0 && samples > options_.max_batch) {
    throw ValueError(
        fmt::format("model '{}': expected at most {} samples (max_batch of the "
                    "session), got {}",
                    name_, options_.max_batch, samples));
  }
  std::vector<Tensor> outputs;
  for (const Shape& shape : output_shapes_) {
    outputs.emplace_back(shape.with(0, samples));
  }
  return outputs;
}

std::vector<Tensor> InferenceSession::run(
    std::span<const Tensor> inputs) const {
  const ThreadLimit limit(options_.threads);
  std::vector<Tensor> outputs = outputs_for(inputs);
  if (!program_.run(inputs, outputs)) {
    throw ValueError(fmt::format(
        "model '{}': expected numbers, got NaN where a value is rounded to 8 "
        "bits. Hint: look for NaN or infinity in the inputs",
        name_));
  }
  return outputs;
}

Tensor InferenceSession::run(const Tensor& x) const {
  if (output_shapes_.size() != 1) {
    throw ValueError(fmt::format("model '{}': expected one output, got {}",
                                 name_, output_shapes_.size()));
  }
  return run(std::span(&x, 1))[0];
}

std::vector<ProgramStep> InferenceSession::profile(
    std::span<const Tensor> inputs) const {
  const ThreadLimit limit(options_.threads);
  std::vector<Tensor> outputs = outputs_for(inputs);
  return program_.profile(inputs, outputs);
}

}  // namespace octet
