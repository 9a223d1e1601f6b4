// Capture of a model as a program of fused ops.
#pragma once

#include <functional>
#include <optional>

#include <octet/layers/model.h>
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

/// Checks an input tensor.
/// Throws: ShapeError if x does not fit the input; ValueError for an empty
/// tensor or an element type other than f32.
void expect_fits(const Tensor& x, const Shape& input, const std::string& name);

}  // namespace octet
