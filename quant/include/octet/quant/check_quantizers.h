// check_quantizers: finds faulty quantizers in a model and names them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>

namespace octet::quant {

enum class QuantizerFault {
  not_finite,  ///< NaN or infinity in a scale or value
  zeros,       ///< the tensor, or channels of it, are all zero
  zero_codes,  ///< nonzero values all quantize to 0: the scale is too large
  collapsed,  ///< a learned scale fell to its floor, 1/100 of its initial value
  clipped,    ///< the share of clipped values exceeds the limit
  never_ran,  ///< the tensor was not computed for the samples
};

/// "not finite", "zeros", ...
std::string_view to_string(QuantizerFault fault);

struct QuantizerFinding {
  std::string quantizer;
  QuantizerFault fault;
  double share = 1;  ///< affected share of its values or channels, (0, 1]
  std::string text;  ///< a sentence with the quantizer's name and a fix
};

/// Fields in order: clipped, samples, seed, batch_size
struct CheckOptions {
  double clipped = 0.05;  ///< largest share of clipped values, (0, 1]
  int64_t samples = 256;  ///< size of the random subset; 0: all
  uint64_t seed = 0;      ///< of the subset
  int64_t batch_size = 64;
};

/// Checks the weights and, on samples, the activations of every enabled
/// quantizer in the quantized model. Returns findings on weights and scales,
/// then on activations, in the model's order; empty if there are none. A model
/// with NaN in weights or scales is not run. The model is not changed.
/// Throws: ValueError for options out of range, a model without quantizers or
/// uncalibrated, or no samples; ShapeError for samples of other shapes.
std::vector<QuantizerFinding> check_quantizers(
    const Model& model, const Dataset& data, const CheckOptions& options = {});

}  // namespace octet::quant
