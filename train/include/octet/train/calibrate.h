// Calibration on several ranks.
#pragma once

#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/calibrate.h>
#include <octet/runtime/dataset.h>
#include <octet/train/communicator.h>

namespace octet::train {

/// quant::calibrate() of samples that are spread over ranks, each with a run of
/// batches. What observers saw is merged in the order of the samples, so every
/// rank has the scales of one process, to the bit. With a custom observer,
/// whose state is not known, each rank runs all samples.
/// All ranks call it with the same model, data and options.
/// Throws: as quant::calibrate(); on all ranks, what one throws.
std::vector<quant::CalibratedRange> calibrate(
    Model& model, const Dataset& data, Communicator& ranks,
    const quant::CalibrationOptions& options = {});

}  // namespace octet::train
