// InferenceSession: compiles a trained model, float or quantized, into fused
// kernels. Weights are packed in advance and quantized layers exchange INT8
// values only. Outputs are bit-identical to the model's.
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>
#include <octet/runtime/program.h>

namespace octet {

/// Options of InferenceSession.
/// Fields in order: threads, max_batch, memory_limit, time_limit
struct SessionOptions {
  int threads = 0;  ///< maximum number per run; 0: all, see num_threads()
  /// Maximum number of samples per run; 0: no maximum. If set, activation
  /// memory is reserved at construction for the current number of threads; a
  /// run then allocates only its outputs and the memory of called layers
  /// (steps() with `op` "call"), run_into() only the latter.
  int64_t max_batch = 0;
  /// Maximum bytes of activations in the trial run of two samples; 0: no limit.
  /// For models from untrusted files.
  int64_t memory_limit = 0;
  /// Maximum seconds of construction, checked between layers; 0: no limit. For
  /// models from untrusted files.
  double time_limit = 0;
};

/// A compiled model. It owns all data that it needs: the model may change or be
/// destroyed. Given a temporary or moved model, it frees the model's weights
/// while it packs them. Safe to run from several threads.
///
///   const InferenceSession session(model);
///   const InferenceSession leaner(io::load_keras("net.h5"));
///   const Tensor y = session.run(x);
class InferenceSession {
 public:
  /// Compiles the model and runs both on random samples to compare their
  /// outputs. Returns the memory freed while loading and compiling the model to
  /// the system; after the model is destroyed, release_memory() does the same
  /// for its memory.
  /// Throws: ValueError for a model with quantizers in calibration, negative
  /// options, or a model that exceeds a limit; UnsupportedError for a layer
  /// whose output's first axis is not the batch, and for a model whose outputs
  /// differ from the session's, as with custom layers that branch on values.
  explicit InferenceSession(const Model& model,
                            const SessionOptions& options = {});
  /// The same. Frees each layer that nothing else owns as soon as its weights
  /// are packed.
  explicit InferenceSession(Model&& model, const SessionOptions& options = {});

  /// Returns the outputs, bit-identical to model(x). A single sample uses all
  /// threads; a batch is split among them. Inputs of i32 and i64 are indices.
  /// Shapes: [n, ...] with n >= 1.
  /// Throws: ShapeError if x does not fit; ValueError for a wrong number of
  /// inputs, for several outputs in the single-output form, for more than
  /// max_batch samples, for a NaN in a tensor to be quantized, and after a call
  /// of set_active_isa().
  Tensor run(const Tensor& x) const;
  [[nodiscard]] std::vector<Tensor> run(std::span<const Tensor> inputs) const;
  /// Like run(), from f32 into `outputs`. With max_batch it allocates no
  /// tensors, unless layers are called. Throws: like run(); ValueError for a
  /// wrong number of outputs; ShapeError for an output of another shape or
  /// element type.
  void run_into(std::span<const Tensor> inputs,
                std::span<Tensor> outputs) const;

  /// Return names, types and shapes of single samples, channels last, in the
  /// model's order. A name is that of the input layer or of the layer that
  /// produces the output, without its quantize wrapper.
  const std::vector<TensorSpec>& inputs() const { return inputs_; }
  const std::vector<TensorSpec>& outputs() const { return outputs_; }

  /// Returns the steps in execution order: fused ops and stored tensors.
  std::vector<ProgramStep> steps() const { return program_.steps(); }
  /// Returns the steps with their times for the whole batch.
  std::vector<ProgramStep> profile(std::span<const Tensor> inputs) const;
  /// Returns a line per step.
  std::string to_string() const { return program_.to_string(); }
  /// Bytes of the packed weights.
  int64_t weight_bytes() const { return program_.weight_bytes(); }
  /// Bytes of activations alive at the same time, per sample.
  int64_t activation_bytes() const { return program_.activation_bytes(); }

 private:
  void expect_inputs(std::span<const Tensor> inputs) const;
  std::vector<Tensor> outputs_for(int64_t samples) const;

  std::string name_;
  SessionOptions options_;
  std::vector<TensorSpec> inputs_, outputs_;
  std::vector<Shape> input_shapes_, output_shapes_;  // with the batch
  Program program_;
};

/// Prints a line per fused step.
std::ostream& operator<<(std::ostream& out, const InferenceSession& session);

}  // namespace octet
