// Presets of quantization-aware training: widths, calibration and how much of
// the float training is repeated, by one name.
//
//   const train::QatPreset& preset = train::qat_preset("int8");
//   Model int8 = quant::quantize_model(model, preset.quantize(model));
//   quant::calibrate(int8, data, preset.calibration());
//   preset.prepare(int8);
//   train::fit(int8, data, {.epochs = preset.epochs_of(30),
//                           .optimizer = preset.optimizer(0.1f),
//                           .schedule = preset.schedule()});
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/layer_bits.h>
#include <octet/quant/observer.h>
#include <octet/quant/quantize_model.h>
#include <octet/train/optimizer.h>
#include <octet/train/schedule.h>

namespace octet::train {

struct QatPreset {
  std::string_view name;
  std::string_view description;  ///< one line
  /// Of weights and activations; below 8 the first and the last layer with a
  /// kernel have 8, and scales learn.
  int bits = 8;
  double epochs = 0.1;  ///< share of the epochs of the float training
  double rate = 0.01;   ///< share of the largest rate of that, with SGD
  float floor = 0.01f;  ///< where the cosine ends, as a share of its start
  /// Statistics of batch normalization stay those of the float model. At larger
  /// rates than these they have to follow the weights, or training diverges;
  /// the callback freeze_batch_norm() freezes them later.
  bool freeze_batch_norm = true;

  /// Adds widths, and the rule of scales, to what `options` say.
  quant::QuantizeOptions quantize(const Model& model,
                                  quant::QuantizeOptions options = {}) const;
  quant::CalibrationOptions calibration() const;
  /// A calibrated model for fit(): quant::prepare_qat(), and freeze_bn_stats()
  /// where freeze_batch_norm says so.
  void prepare(Model& model) const;
  /// At least one. Throws: ValueError for `trained` < 1.
  int64_t epochs_of(int64_t trained) const;
  /// SGD with momentum 0.9 and weight decay 1e-4 of kernels.
  /// `trained_rate` is the largest of the float training, with SGD.
  Optimizer optimizer(float trained_rate = 0.1f) const;
  Schedule schedule() const;
};

/// "int8": a tenth of the epochs at a hundredth of the rate.
/// "int8_mobile": twice as long at a tenth of that rate, for networks of
/// depthwise convolutions, whose scales differ much from channel to channel.
/// "int4": a third of the epochs at a tenth of the rate, batch statistics
/// following.
/// Source: int8, Wu et al., arXiv 2004.09602, section 5.2 (its cosine ends at
/// a hundredth of the start); int8_mobile, the rate of NVIDIA ModelOpt's
/// examples/cnn_qat, 1e-4; int4, Esser et al., arXiv 1902.08153, section 3
/// (rate 0.01, cosine, 30 of 90 epochs).
std::span<const QatPreset> qat_presets();
/// Throws: NotFoundError naming the nearest names.
const QatPreset& qat_preset(std::string_view name);

/// Weights and what they read in so many bits, but for the first and the last
/// layer with a kernel, which have 8; none where both are 8.
/// Throws: ValueError for bits outside [2,8].
std::vector<quant::LayerBits> inner_bits(const Model& model, int weight,
                                         int activation);
std::vector<quant::LayerBits> inner_bits(const Model& model, int bits);

}  // namespace octet::train
