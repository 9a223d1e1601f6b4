// InferenceSession: a trained model, float or quantized, made ready to answer.
// Weights are packed, layers fused with what follows them, and between
// quantized layers there are only 8-bit integers. The answers are the bits of
// the model itself.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/program.h>

namespace octet {

/// Fields in order: threads, max_batch, memory_limit, time_limit
struct SessionOptions {
  int threads = 0;  ///< that one run takes at most; 0: all, see set_num_threads
  /// Samples that one run takes at most; 0: any number. The memory of their
  /// activations is there from the beginning, for as many threads as then: a
  /// run takes that of its outputs, and what called layers (`op` of steps() is
  /// "call") read and do.
  int64_t max_batch = 0;
  /// Bytes that the activations of the samples may take with which the session
  /// is tried, two of them, and seconds that making it may take, looked at
  /// between layers; 0: no limit. For models from files that are not trusted.
  int64_t memory_limit = 0;
  double time_limit = 0;
};

/// A session keeps what it needs: the model may change or go. Safe to run from
/// several threads at once.
///
///   const InferenceSession session(model);
///   const Tensor y = session.run(x);
class InferenceSession {
 public:
  /// Takes copies of what it needs. What reading and trying the model left for
  /// reuse goes back to the system; release_memory() does so with the model
  /// itself, once it is gone.
  /// Throws: ValueError for a model whose quantizers are being calibrated, and
  /// for options < 0 and for a model that exceeds a limit of theirs;
  /// UnsupportedError for a model with a layer
  /// whose output's first axis is not the batch, and for one that answers
  /// otherwise than the session, which is tried with random samples: custom
  /// layers that look at values do.
  explicit InferenceSession(const Model& model,
                            const SessionOptions& options = {});

  /// The same bits as model(x). One sample goes through on all threads, many
  /// are shared out.
  /// Shapes: [n, ...] with n >= 1. Throws: ShapeError if x does not fit;
  /// ValueError for another number of inputs, or of outputs where one is
  /// returned, for more than max_batch samples, where a value that has to be
  /// rounded to a grid is NaN, or where set_active_isa() was called since.
  Tensor run(const Tensor& x) const;
  [[nodiscard]] std::vector<Tensor> run(std::span<const Tensor> inputs) const;

  /// What is done, in order: which ops are fused and what is stored.
  std::vector<ProgramStep> steps() const { return program_.steps(); }
  /// The same with the time of each step, for all samples at once.
  std::vector<ProgramStep> profile(std::span<const Tensor> inputs) const;
  /// Bytes of the packed weights.
  int64_t weight_bytes() const { return program_.weight_bytes(); }
  /// Bytes of activations that one sample needs at a time.
  int64_t activation_bytes() const { return program_.activation_bytes(); }

 private:
  /// `late` is called between layers and throws once the time is over.
  InferenceSession(const Model& model, const SessionOptions& options,
                   const std::function<void()>& late);
  std::vector<Tensor> outputs_for(std::span<const Tensor> inputs) const;

  std::string name_;
  SessionOptions options_;
  std::vector<std::string> input_names_;
  std::vector<Shape> input_shapes_, output_shapes_;
  Program program_;
};

}  // namespace octet
