// Switches of quantization-aware training.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/quantizer.h>

namespace octet::quant {

/// Makes a calibrated model ready for fine-tuning: every quantizer on, none
/// observing. Scales that follow what training sees (ScaleRule::ema,
/// last_value) need no calibration. Throws: ValueError naming the first
/// uncalibrated quantizer, or if there are none.
void prepare_qat(Model& model);

/// Throws: ValueError naming `subject` and the first quantizer that is on, has
/// no scale and will get none in training. Float models pass.
void expect_calibrated(std::string_view subject, const Model& model);
/// Whether there is such a quantizer.
bool needs_calibration(const Model& model);

/// While it lives, quantizers that collect ranges see nothing: evaluation in
/// the middle of a training that observes.
class ObservingPaused {
 public:
  explicit ObservingPaused(const Model& model);
  ~ObservingPaused();
  ObservingPaused(const ObservingPaused&) = delete;
  ObservingPaused& operator=(const ObservingPaused&) = delete;

 private:
  std::vector<std::shared_ptr<const Quantizer>> quantizers_;
};

/// Switches every quantizer on or off. Scales are kept, and export writes
/// Q/DQ either way.
void enable_fake_quant(Model& model);
void disable_fake_quant(Model& model);

/// Whether a quantizer has a scale that the optimizer moves.
bool learns_scales(const Model& model);

/// Scales that follow what training sees, or learn, stay as they are.
void freeze_scales(Model& model, bool frozen = true);

/// Batch normalization keeps its moving statistics and uses them, in training
/// too; gamma and beta still learn.
void freeze_bn_stats(Model& model, bool frozen = true);

}  // namespace octet::quant
