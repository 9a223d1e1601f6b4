// check_quantizers: what is wrong with the quantizers of a model, by name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>

namespace octet::quant {

enum class QuantizerFault {
  not_finite,  ///< a scale or a value is NaN or infinite
  zeros,       ///< there are zeros alone: in the tensor, or in channels of it
  zero_codes,  ///< values that are not zero all have code 0: too wide a scale
  collapsed,   ///< a scale that learns fell to the hundredth that is its floor
  clipped,     ///< more values lie beyond the range than is allowed
  never_ran,   ///< the tensor was not computed for the samples
};

/// "not finite", "zeros", ...
std::string_view to_string(QuantizerFault fault);

struct QuantizerFinding {
  std::string quantizer;
  QuantizerFault fault;
  double share = 1;  ///< of its values or channels, (0, 1]
  std::string text;  ///< a sentence that names it, with a cure
};

/// Fields in order: clipped, samples, seed, batch_size
struct CheckOptions {
  double clipped = 0.05;  ///< share of values beyond the range, (0, 1]
  int64_t samples = 256;  ///< as many, chosen by chance; 0: all
  uint64_t seed = 0;      ///< of that choice
  int64_t batch_size = 64;
};

/// Looks at the weights and, on samples, at the activations of every quantizer
/// that is on, as the model computes them: quantized. Weights and scales come
/// first, then activations, in the model's order; a model with NaN among the
/// former does not run, so that nothing is said of the latter. Empty where all
/// is well. The model stays as it is.
/// Throws: ValueError for options out of range, a model without quantizers or
/// one that is not calibrated, no samples; ShapeError for samples that do not
/// fit.
std::vector<QuantizerFinding> check_quantizers(
    const Model& model, const Dataset& data, const CheckOptions& options = {});

}  // namespace octet::quant
