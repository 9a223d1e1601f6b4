// Switches of quantization-aware training.
#pragma once

#include <octet/layers/model.h>

namespace octet::quant {

/// Makes a calibrated model ready for fine-tuning: every quantizer on, none
/// observing. Throws: ValueError naming the first uncalibrated quantizer, or
/// if there are none.
void prepare_qat(const Model& model);

/// Switches every quantizer on or off. Scales are kept, and export writes
/// Q/DQ either way.
void enable_fake_quant(const Model& model);
void disable_fake_quant(const Model& model);

/// Batch normalization keeps its moving statistics and uses them, in training
/// too; gamma and beta still learn.
void freeze_bn_stats(const Model& model, bool frozen = true);

}  // namespace octet::quant
