// The program of a model: its layers' ops, captured by running them once.
#pragma once

#include <functional>

#include <octet/layers/model.h>
#include <octet/runtime/program.h>

namespace octet {

/// What a program calls is a copy of the layer, or the layer itself: then the
/// model must neither change nor go while the program is used.
enum class CalledLayers { copies, own };

/// Called before each layer; may throw.
using LayerCheck = std::function<void()>;

/// Throws: ValueError for a model that observes; UnsupportedError, naming the
/// layer, for an output whose first axis is not the batch.
Program make_program(const Model& model, CalledLayers called,
                     const LayerCheck& check = {});

/// Whether a program, and the model that it is of, answer with the same bits.
/// Those of layers that look at values, or at how many samples there are, need
/// not.
bool gives_bits_of(const Program& program, const Model& model,
                   std::span<const Tensor> inputs,
                   const LayerCheck& check = {});

/// Throws: ShapeError if x does not fit the input; ValueError for no tensor, or
/// one that is not f32.
void expect_fits(const Tensor& x, const Shape& input, const std::string& name);

}  // namespace octet
