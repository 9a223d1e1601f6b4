// Quantization-aware training (QAT) switches.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/quantizer.h>

namespace octet::quant {

/// Prepares a calibrated model for fine-tuning: enables every quantizer and
/// ends observation. Scales that follow training (ScaleRule::ema, last_value)
/// need no calibration.
/// Throws: ValueError naming the first uncalibrated quantizer, or for a model
/// without quantizers.
void prepare_qat(Model& model);

/// Checks that all enabled quantizers have a scale, or get it in training.
/// Throws: ValueError with `subject` naming the first enabled quantizer without
/// a scale that will not get one in training. Float models pass.
void expect_calibrated(std::string_view subject, const Model& model);
/// Returns whether expect_calibrated() would throw.
bool needs_calibration(const Model& model);

/// Pauses observation during its lifetime, e.g. for evaluation within training.
class ObservingPaused {
 public:
  /// Pauses the quantizers of `model`, which need not outlive the guard; the
  /// destructor resumes them.
  explicit ObservingPaused(const Model& model);
  ~ObservingPaused();
  ObservingPaused(const ObservingPaused&) = delete;
  ObservingPaused& operator=(const ObservingPaused&) = delete;

 private:
  std::vector<std::shared_ptr<const Quantizer>> quantizers_;
};

/// Enable or disable every quantizer. Scales remain, and export writes Q/DQ
/// either way.
void enable_fake_quant(Model& model);
void disable_fake_quant(Model& model);

/// Returns whether any quantizer has a learned scale.
bool learns_scales(const Model& model);

/// Freezes, or releases if `frozen` is false, scales that learn or follow
/// training.
void freeze_scales(Model& model, bool frozen = true);

/// Freezes, or releases if `frozen` is false, the moving statistics of batch
/// normalization. Training then normalizes with them and does not update them;
/// gamma and beta still learn.
void freeze_bn_stats(Model& model, bool frozen = true);

}  // namespace octet::quant
