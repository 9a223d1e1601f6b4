// Presets of quantization-aware training (QAT): bit widths, calibration,
// epochs and learning rate under a single name.
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
#include <octet/quant/plan.h>
#include <octet/quant/quantize_model.h>
#include <octet/quant/quantizer.h>
#include <octet/train/learning_rate.h>
#include <octet/train/optimizer.h>

namespace octet::train {

/// Options of quantization-aware training, relative to the float training.
struct QatPreset {
  std::string_view name;         ///< "int8", see qat_presets()
  std::string_view description;  ///< one line
  /// Bit width of weights and activations. Below 8, scales are learned, and the
  /// first and the last layer with a kernel have 8 bits.
  int bits = 8;
  double epochs = 0.1;  ///< share of the epochs of the float training
  double rate = 0.01;   ///< share of its maximum learning rate with SGD
  float floor = 0.01f;  ///< final factor of the cosine schedule
  /// Freeze the statistics of batch normalization at their float values. At
  /// larger learning rates they must follow the weights, or training diverges;
  /// the callback freeze_batch_norm() freezes them later.
  bool freeze_batch_norm = true;

  /// Returns `options` with the preset's bit widths and scale rule. Entries of
  /// `options.bits` take precedence.
  quant::QuantizeOptions quantize(const Model& model,
                                  quant::QuantizeOptions options = {}) const;
  /// Returns the options of quant::calibrate(): 1024 samples; below 8 bits,
  /// ranges of least squared error.
  quant::CalibrationOptions calibration() const;
  /// Prepares a calibrated model for fit(): quant::prepare_qat() and, if
  /// freeze_batch_norm, quant::freeze_bn_stats().
  void prepare(Model& model) const;
  /// Returns the number of QAT epochs, at least 1, for a float training of
  /// `trained` epochs. Throws: ValueError for `trained` < 1.
  int64_t epochs_of(int64_t trained) const;
  /// Returns SGD with momentum 0.9 and weight decay 1e-4 of kernels.
  /// `trained_rate` is the maximum learning rate of the float training with
  /// SGD.
  Optimizer optimizer(float trained_rate = 0.1f) const;
  /// Returns the cosine schedule that ends at `floor`.
  Schedule schedule() const;
};

/// Returns all presets. Epochs and rates are shares of the float training:
/// "int8": a tenth of the epochs at a hundredth of the rate.
/// "int8_mobile": a fifth of the epochs at a thousandth of the rate, for
/// networks with depthwise convolutions, whose channels differ in scale.
/// "int4": a third of the epochs at a tenth of the rate, with running batch
/// statistics.
/// Source: int8, Wu et al., arXiv 2004.09602, section 5.2 (final factor of the
/// cosine: 0.01); int8_mobile, the rate of NVIDIA ModelOpt's examples/cnn_qat,
/// 1e-4; int4, Esser et al., arXiv 1902.08153, section 3 (rate 0.01, cosine, 30
/// of 90 epochs).
std::span<const QatPreset> qat_presets();
/// Returns the preset of this name. Throws: NotFoundError with similar names.
const QatPreset& qat_preset(std::string_view name);

/// Returns bit widths for quant::QuantizeOptions::bits: `weight` and
/// `activation` bits for all layers, 8 for the first and the last layer with a
/// kernel. Empty if both are 8.
/// Throws: ValueError for bits outside [2, 8].
std::vector<quant::LayerBits> inner_bits(const Model& model, int weight,
                                         int activation);
std::vector<quant::LayerBits> inner_bits(const Model& model, int bits);

}  // namespace octet::train
