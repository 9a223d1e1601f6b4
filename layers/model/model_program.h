// Capture of a model as a program of fused ops.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <octet/layers/layer.h>
#include <octet/layers/model.h>
#include <octet/runtime/detail/program_capture.h>
#include <octet/runtime/program.h>

namespace octet {

/// Whether a program calls copies of layers or the model's own layers. In the
/// latter case the model must neither change nor be destroyed while the program
/// is in use.
enum class CalledLayers { copies, own };

/// Called before each layer; may throw.
using LayerCheck = std::function<void()>;

/// Captures the ops of a model by running its layers once.
/// Throws: ValueError for a model with observing layers; UnsupportedError with
/// the name of the layer for an output whose first axis is not the batch.
Program make_program(const Model& model, CalledLayers called,
                     const LayerCheck& check = {});

/// Returns whether a program's outputs are bit-identical to the model's. They
/// may differ for layers that branch on values or on the number of samples.
/// nullopt: a value to be quantized is NaN.
std::optional<bool> matches_bitwise(const Program& program, const Model& model,
                                    std::span<const Tensor> inputs,
                                    const LayerCheck& check = {});

/// The same with the model's outputs.
std::optional<bool> matches_bitwise(const Program& program,
                                    std::span<const Tensor> inputs,
                                    std::span<const Variable> expected);

/// Compiles a model and frees each layer that nothing else owns as soon as its
/// ops are captured and have computed its outputs of `samples`.
struct CheckedProgram {
  Program program;
  std::optional<bool> matches;  // as matches_bitwise()
};
CheckedProgram make_owned_program(Model&& model,
                                  std::span<const Tensor> samples,
                                  const LayerCheck& check);

// For both ways of compilation:

/// Returns the shape of each tensor.
std::vector<Shape> shapes_of(std::span<const SymbolicTensor> tensors);
/// Returns a function that calls a layer in inference mode.
Program::Function forward_of(std::shared_ptr<const Layer> layer);
/// Throws: ValueError for a model with observing layers.
void expect_not_observing(const Model& model);
/// Captures a node; `lasting` returns the layer that the program may call.
Variable capture_call(
    ProgramCapture& capture, const GraphNode& node,
    const std::vector<Variable>& inputs,
    const std::function<std::shared_ptr<const Layer>()>& lasting);

/// Creates and caches a copy of each layer.
class LayerCopies {
 public:
  std::shared_ptr<const Layer> of(const GraphNode& node);

 private:
  CloneContext context_;
  std::map<const Layer*, std::shared_ptr<Layer>> made_;
};

/// Values of graph nodes, each until its last use.
class NodeValues {
 public:
  NodeValues(std::span<const std::shared_ptr<const GraphNode>> nodes,
             std::span<const SymbolicTensor> outputs);
  std::vector<Variable> of(std::span<const SymbolicTensor> tensors) const;
  /// Stores the value of a node; frees inputs without further uses.
  void set(const GraphNode& node, Variable value);

 private:
  std::unordered_map<const GraphNode*, Variable> values_;
  std::unordered_map<const GraphNode*, int64_t> uses_;
};

/// Checks an input tensor.
/// Throws: ShapeError if x does not fit the input; ValueError for an empty
/// tensor or an element type other than f32.
void expect_fits(const Tensor& x, const Shape& input, const std::string& name);

}  // namespace octet
