#include <fmt/format.h>

#include <octet/layers/inference_session.h>
#include <octet/runtime/error.h>
#include <octet/runtime/memory.h>
#include <octet/runtime/parallel.h>
#include <octet/runtime/rng.h>

#include "model_program.h"

namespace octet {

InferenceSession::InferenceSession(const Model& model,
                                   const SessionOptions& options)
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
            if (options.max_batch < 0) {
              throw ValueError(
                  fmt::format("max_batch: expected at least 1, or 0 for any "
                              "number of samples, got {}",
                              options.max_batch));
            }
            release_memory();  // what reading the model took
            Program program = make_program(model, CalledLayers::copies);
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
    rng.fill_uniform(x.emplace_back(shape.with(0, 2)), -1, 1);
  }
  if (!gives_bits_of(program_, model, x)) {
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
