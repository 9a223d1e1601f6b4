#include "sensitivity_reference.h"

#include <octet/quant/post_training.h>
#include <octet/runtime/error.h>

namespace octet::program {

quant::Sensitivity sensitivity_beside(const Model& reference,
                                      const Model& quantized,
                                      const Dataset& samples,
                                      quant::SensitivityOptions options) {
  options.reference = &reference;
  try {
    return quant::sensitivity(quantized, samples, options);
  } catch (const Error&) {
    try {
      const Model folded = quant::fold_batch_norm(reference);
      options.reference = &folded;
      return quant::sensitivity(quantized, samples, options);
    } catch (const Error&) {
      // Report the error of the original model.
    }
    throw;
  }
}

}  // namespace octet::program
