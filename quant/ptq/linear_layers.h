// The linear layers of a quantized model and what they read.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/dataset.h>

#include "ptq/linear_part.h"

namespace octet::quant {

struct LinearLayer {
  const Layer* layer = nullptr;       ///< a wrapper or not
  std::unique_ptr<LinearPart> part;   ///< null: see skipped
  std::shared_ptr<Quantizer> weight;  ///< of the kernel; null if there is none
  std::string skipped = {};

  const std::string& name() const { return float_layer(*layer).name(); }
};

/// Those with weights (LayerRole::linear), in the model's order, and why some
/// are none to work on: several layers have a parameter in common.
std::vector<LinearLayer> linear_layers(const Model& model);

/// Runs the samples and shows what `layer` multiplies with: in rows
/// (LinearPart::rows), quantized where its quantizer is on.
void for_each_input(const Model& model, const LinearLayer& layer,
                    const Dataset& samples, int64_t batch_size,
                    const std::function<void(const Tensor& rows)>& visit);

/// Throws: ValueError beginning with `subject` unless some weights are
/// quantized, and for live scales of theirs.
void expect_fixed_weights(const char* subject, const Model& model);

/// How the methods say that a tensor of a layer is of no use.
[[noreturn]] void refuse_not_finite(const char* subject,
                                    const std::string& layer);

}  // namespace octet::quant
