// Random samples, for results that do not depend on values: timing and Q/DQ
// placement.
#pragma once

#include <cstdint>
#include <vector>

#include <octet/layers/model.h>

namespace octet::program {

/// Returns n samples per input, uniform in [0, 1).
std::vector<Tensor> random_samples(const Model& model, int64_t n);

/// Calibrates a quantized model on noise, without warnings. The ranges are
/// meaningless.
void calibrate_on_noise(Model& model);

}  // namespace octet::program
