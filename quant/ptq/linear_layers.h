// Linear layers of a quantized model and their inputs.
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
  const Layer* layer = nullptr;       ///< possibly a wrapper
  std::unique_ptr<LinearPart> part;   ///< null if skipped
  std::shared_ptr<Quantizer> weight;  ///< of the kernel; null for float
  std::string skipped = {};           ///< reason

  const std::string& name() const { return float_layer(*layer).name(); }
};

/// Returns the linear layers (LayerRole::linear) in the model's order. Layers
/// with shared parameters or without a LinearPart are marked as skipped.
std::vector<LinearLayer> linear_layers(const Model& model);

/// Throws: ValueError of `method` for a batch size < 1.
void expect_batch_size(const char* method, int64_t batch_size);

/// Runs the samples and passes the inputs of `layer`'s product to `visit`, as
/// rows (LinearPart::rows) and quantized if its quantizer is enabled.
void for_each_input(const Model& model, const LinearLayer& layer,
                    const Dataset& samples, int64_t batch_size,
                    const std::function<void(const Tensor& rows)>& visit);

/// Throws: ValueError with `subject` for a model without quantized weights, and
/// for live weight scales; UnsupportedError for floating-point weights.
void expect_fixed_weights(const char* subject, const Model& model);

/// Throws the error of the methods for NaN or infinity at a layer.
[[noreturn]] void refuse_not_finite(const char* subject,
                                    const std::string& layer);

}  // namespace octet::quant
