// Calibration: run data through a quantized model and fix the scales of its
// activations.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/observer.h>
#include <octet/runtime/dataset.h>

namespace octet::quant {

struct CalibrationOptions {
  Calibration method = Calibration::percentile;
  float percentile = 99.99f;  ///< for Calibration::percentile, (0, 100]
  float ema_rate = 0.01f;     ///< for Calibration::ema, (0, 1]
  int64_t batch_size = 256;   ///< of the short form
};

struct CalibratedRange {
  std::string quantizer;
  float range;  ///< largest magnitude represented; 0 for a dead tensor
  float scale;
  bool dead;  ///< no magnitude of 2^-100 or more was seen; the scale is 1
};

/// Runs `forward` with every fixed-scale quantizer observing and none
/// quantizing, without gradients and on this thread alone, then sets the
/// scales. Dead tensors are warned of too. Fixed scales per channel, which only
/// weights have, come from the weight where there are none yet and stay as
/// they are where fold_batch_norm() or set_scales() gave some.
/// Throws: ValueError if the model has no quantizers, if one saw no data, or
/// for NaN or infinity in an activation (naming the quantizer); scales and
/// switches are then as before.
std::vector<CalibratedRange> calibrate(
    const Model& model, const std::function<void(const Model&)>& forward,
    const CalibrationOptions& options = {});

/// The same over all samples of `data`, in order.
std::vector<CalibratedRange> calibrate(const Model& model, const Dataset& data,
                                       const CalibrationOptions& options = {});

}  // namespace octet::quant
