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
  float percentile = 99.99f;  ///< for Calibration::percentile, [50, 100]
  float ema_rate = 0.01f;     ///< for Calibration::ema, (0, 1]
  // Of the form that takes data:
  int64_t batch_size = 256;
  int64_t samples = 0;  ///< as many, chosen by chance; 0: all
  uint64_t seed = 0;    ///< of that choice
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
/// they are where fold_batch_norm() or set_scales() gave some. Batch
/// normalization whose statistics were never trained is warned of: its ranges
/// are not those of the trained network.
/// Throws: ValueError if the model has no quantizers, if one saw no data, or
/// for NaN or infinity in an activation (naming the quantizer); scales and
/// switches are then as before.
std::vector<CalibratedRange> calibrate(
    const Model& model, const std::function<void(const Model&)>& forward,
    const CalibrationOptions& options = {});

/// The same over samples of `data`, in order. Warns where they lack classes
/// that the rest of their source has, as the first samples of sorted data do.
std::vector<CalibratedRange> calibrate(const Model& model, const Dataset& data,
                                       const CalibrationOptions& options = {});

}  // namespace octet::quant
