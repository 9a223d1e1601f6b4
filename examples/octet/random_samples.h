// Samples of noise, for what does not depend on values: speed, and where Q/DQ
// stands.
#pragma once

#include <cstdint>
#include <vector>

#include <octet/layers/model.h>

namespace octet::program {

/// n for each input, uniform in [0, 1).
std::vector<Tensor> random_samples(const Model& model, int64_t n);

/// Gives a quantized model ranges, good for nothing but to have some. No
/// warnings: that nobody trained the network is no matter either.
void calibrate_on_noise(Model& model);

}  // namespace octet::program
