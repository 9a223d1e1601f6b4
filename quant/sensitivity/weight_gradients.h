// Second-order effect of weight rounding on the loss.
#pragma once

#include <map>
#include <span>
#include <string>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>

namespace octet::quant {

/// Returns, for each layer with trainable quantized weights, half the sum over
/// its weights of the mean squared gradient of the samples' cross-entropies
/// times the squared rounding error. The mean squared gradient approximates the
/// Hessian's diagonal. Quantizers of `model` must be disabled. Empty unless the
/// model ends in softmax or a linear layer.
/// Source: Dong et al., "HAWQ-V2", arXiv 1911.03852, with the empirical Fisher
/// information in place of the trace, as in Kim et al., BRECQ, arXiv
/// 2102.05426, section 3.2.
std::map<std::string, double> weight_loss_rises(
    const Model& model, const Dataset& samples,
    std::span<const int64_t> classes);

}  // namespace octet::quant
