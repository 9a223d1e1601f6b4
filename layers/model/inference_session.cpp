#include <chrono>

#include <fmt/format.h>

#include <octet/layers/detail/load_limits.h>
#include <octet/layers/embedding.h>
#include <octet/layers/inference_session.h>
#include <octet/runtime/detail/exact_floats.h>
#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>
#include <octet/runtime/rng.h>
#include <octet/runtime/system.h>

#include "model/model_program.h"

namespace octet {
namespace {

constexpr int64_t kTriedSamples = 2;

void check_limits(const Model& model, const SessionOptions& options) {
  if (options.memory_limit < 0 || !(options.time_limit >= 0)) {
    throw ValueError("out_of_range", "memory_limit, time_limit",
                     fmt::format("must not be negative, got {} bytes and {} s",
                                 options.memory_limit, options.time_limit));
  }
  if (options.memory_limit == 0) return;
  const ActivationMemory memory = activation_memory(model);
  if (memory.bytes <= options.memory_limit / kTriedSamples) return;
  constexpr int64_t kMiB = int64_t{1} << 20;
  throw ValueError(
      "memory_limit", fmt::format("model '{}'", model.name()),
      fmt::format("activations of {} samples need {} MiB, the limit is {} MiB; "
                  "the largest, {}, "
                  "are those {}. Hint: if the model is trusted, raise "
                  "SessionOptions::memory_limit (command line: --memory-limit)",
                  kTriedSamples, memory.bytes / kMiB * kTriedSamples,
                  options.memory_limit / kMiB,
                  memory.largest->shape.to_string(),
                  memory.largest->layer->describe()));
}

/// Returns a function that throws after the time limit; empty without a limit.
LayerCheck deadline_of(const SessionOptions& options) {
  if (!(options.time_limit > 0)) return {};
  const auto start = std::chrono::steady_clock::now();
  return [start, limit = options.time_limit] {
    const std::chrono::duration<double> taken =
        std::chrono::steady_clock::now() - start;
    if (taken.count() <= limit) return;
    throw ValueError(
        "time_limit", "session",
        fmt::format("construction took more than {} s. Hint: if the model is "
                    "trusted, raise "
                    "SessionOptions::time_limit (command line: --time-limit)",
                    limit));
  };
}

void check_options(const Model& model, const SessionOptions& options) {
  if (options.threads < 0) {
    throw ValueError("out_of_range", "threads",
                     fmt::format("must be at least 1, or 0 for all, got {}",
                                 options.threads));
  }
  check_limits(model, options);
  if (options.max_batch < 0) {
    throw ValueError(
        "out_of_range", "max_batch",
        fmt::format("must be at least 1, or 0 for no maximum, got {}",
                    options.max_batch));
  }
}

// Random samples on which the program and the model run.
std::vector<Tensor> samples_for(const Model& model) {
  return random_inputs(model, kTriedSamples, -1, 1, Rng(1));
}

void expect_match(std::optional<bool> matches, const std::string& model) {
  if (matches.value_or(false)) return;
  throw UnsupportedError("unsupported_model", fmt::format("model '{}'", model),
                         "outputs of the session differ from the model's. "
                         "Hint: a layer that branches on values or "
                         "on the number of samples cannot run in a session; "
                         "use Model::predict()");
}

void reserve(const Program& program, const SessionOptions& options) {
  release_memory();  // the model's own run needs more than the program
  if (options.max_batch == 0) return;
  const ThreadLimit limit(options.threads);
  program.reserve(options.max_batch);
}

Program compile_owned(Model&& model, const SessionOptions& options) {
  const std::string name = model.name();
  return with_context(
      [&] { return fmt::format("in InferenceSession of model '{}'", name); },
      [&] {
        const LayerCheck late = deadline_of(options);
        check_options(model, options);
        release_memory();  // freed while loading the model
        const std::vector<Tensor> x = samples_for(model);
        CheckedProgram checked = make_owned_program(std::move(model), x, late);
        expect_match(checked.matches, name);
        reserve(checked.program, options);
        return std::move(checked.program);
      });
}

std::vector<TensorSpec> specs_of(std::span<const SymbolicTensor> tensors) {
  std::vector<TensorSpec> specs;
  for (const SymbolicTensor& t : tensors) {
    specs.push_back({.shape = t.shape().slice(1, t.shape().rank()),
                     .name = t.node->layer->original_name()});
  }
  return specs;
}

}  // namespace

Program Model::compile() const { return compile({}); }

Program Model::compile(const SessionOptions& options) const {
  return with_context(
      [&] { return fmt::format("in InferenceSession of model '{}'", name()); },
      [&] {
        const LayerCheck late = deadline_of(options);
        check_options(*this, options);
        release_memory();  // freed while loading the model
        Program program = make_program(*this, CalledLayers::copies, late);
        release_memory();  // freed while compiling it
        expect_match(matches_bitwise(program, *this, samples_for(*this), late),
                     name());
        reserve(program, options);
        return program;
      });
}

InferenceSession::InferenceSession(const Model& model,
                                   const SessionOptions& options)
    : name_(model.name()),
      options_(options),
      inputs_(specs_of(model.inputs())),
      outputs_(specs_of(model.outputs())),
      input_shapes_(shapes_of(model.inputs())),
      output_shapes_(shapes_of(model.outputs())),
      program_(model.compile(options)) {}

InferenceSession::InferenceSession(Model&& model, const SessionOptions& options)
    : name_(model.name()),
      options_(options),
      inputs_(specs_of(model.inputs())),
      outputs_(specs_of(model.outputs())),
      input_shapes_(shapes_of(model.inputs())),
      output_shapes_(shapes_of(model.outputs())),
      program_(compile_owned(std::move(model), options)) {}

void InferenceSession::expect_inputs(std::span<const Tensor> inputs) const {
  if (inputs.size() != input_shapes_.size()) {
    throw ValueError("count_mismatch", fmt::format("model '{}'", name_),
                     fmt::format("takes {} inputs, got {}",
                                 input_shapes_.size(), inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    expect_fits(inputs[i], input_shapes_[i], inputs_[i].name);
    if (inputs[i].shape()[0] != inputs[0].shape()[0]) {
      throw ShapeError(
          "shape_mismatch", "inputs",
          fmt::format("must have equal numbers of samples, got {} and {}",
                      inputs[0].shape()[0], inputs[i].shape()[0]));
    }
  }
  const int64_t samples = inputs[0].shape()[0];
  if (options_.max_batch > 0 && samples > options_.max_batch) {
    throw ValueError(
        "out_of_range", fmt::format("model '{}'", name_),
        fmt::format("the session takes at most {} samples (max_batch), got {}",
                    options_.max_batch, samples));
  }
}

std::vector<Tensor> InferenceSession::outputs_for(int64_t samples) const {
  std::vector<Tensor> outputs;
  for (const Shape& shape : output_shapes_) {
    outputs.emplace_back(shape.with(0, samples));
  }
  return outputs;
}

std::vector<Tensor> InferenceSession::run(std::span<const Tensor> given) const {
  std::vector<Tensor> inputs;
  for (const Tensor& x : given) {
    const size_t i = inputs.size();
    inputs.push_back(
        exact_floats(x, i < inputs_.size() ? inputs_[i].name : "input"));
  }
  expect_inputs(inputs);
  std::vector<Tensor> outputs = outputs_for(inputs[0].shape()[0]);
  run_into(inputs, outputs);
  return outputs;
}

void InferenceSession::run_into(std::span<const Tensor> inputs,
                                std::span<Tensor> outputs) const {
  expect_inputs(inputs);
  if (outputs.size() != output_shapes_.size()) {
    throw ValueError("count_mismatch", fmt::format("model '{}'", name_),
                     fmt::format("has {} outputs, got {}",
                                 output_shapes_.size(), outputs.size()));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Shape shape = output_shapes_[i].with(0, inputs[0].shape()[0]);
    if (outputs[i].dtype() == DType::f32 && outputs[i].shape() == shape) {
      continue;
    }
    throw ShapeError("shape_mismatch", fmt::format("output {}", i),
                     fmt::format("must be f32 {}, got {} {}", shape.to_string(),
                                 octet::to_string(outputs[i].dtype()),
                                 outputs[i].shape().to_string()));
  }
  const ThreadLimit limit(options_.threads);
  if (!program_.run(inputs, outputs)) {
    throw ValueError("not_finite", fmt::format("model '{}'", name_),
                     "NaN in a tensor to be quantized. Hint: look for NaN or "
                     "infinity in the inputs");
  }
}

Tensor InferenceSession::run(const Tensor& x) const {
  if (output_shapes_.size() != 1) {
    throw ValueError(
        "count_mismatch", fmt::format("model '{}'", name_),
        fmt::format(
            "has {} outputs. Hint: run(std::span<const Tensor>) returns all",
            output_shapes_.size()));
  }
  return run(std::span(&x, 1))[0];
}

std::vector<ProgramStep> InferenceSession::profile(
    std::span<const Tensor> inputs) const {
  const ThreadLimit limit(options_.threads);
  expect_inputs(inputs);
  std::vector<Tensor> outputs = outputs_for(inputs[0].shape()[0]);
  return program_.profile(inputs, outputs);
}

}  // namespace octet
