// The wrapper route: every layer class that has a Q/DQ default gets it.
#pragma once

#include <octet/quant/plan.h>

namespace octet::quant {

struct QuantizeOptions {
  QuantizerConfig activation = activation_quantizer();
  QuantizerConfig weight = weight_quantizer();
};

/// Where full mode puts Q/DQ: at the inputs and weights of every layer whose
/// class has it on by default (convolutions, Dense, average pooling). Readers
/// of one tensor share a quantizer.
/// Source: NVIDIA tensorflow-quantization, quantize_model, mode "full".
QdqPlan plan_full(const Model& model, const QuantizeOptions& options = {});

/// apply(plan_full(model), model): a new model; `model` is untouched.
/// Throws: ValueError if the model is quantized already or nothing in it can
/// be.
Model quantize_model(const Model& model, const QuantizeOptions& options = {});

}  // namespace octet::quant
