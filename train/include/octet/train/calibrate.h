// calibrate: calibration distributed over ranks.
#pragma once

#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/calibrate.h>
#include <octet/runtime/dataset.h>
#include <octet/train/communicator.h>

namespace octet::train {

/// Distributes quant::calibrate() over ranks, each with a contiguous range of
/// batches. Observer states are merged in sample order, so scales are
/// bit-identical to those of a single process. With a custom observer, whose
/// state cannot be merged, each rank runs all samples. All ranks must call it
/// with the same model, data and options.
/// Throws: as quant::calibrate(). An error on any rank is thrown on all ranks.
std::vector<quant::CalibratedRange> calibrate(
    Model& model, const Dataset& data, Communicator& ranks,
    const quant::CalibrationOptions& options = {});

}  // namespace octet::train
