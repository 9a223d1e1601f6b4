// Built-in callbacks: early stopping, learning rate reduction, weight averages,
// frozen batch statistics, quantizer checks, CSV log. A callback serves a
// single fit at a time and may be reused for later fits. Checkpoints are an
// option of fit().
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include <octet/quant/check_quantizers.h>
#include <octet/runtime/dataset.h>
#include <octet/train/callback.h>

namespace octet::train {

enum class Better {
  automatic,  ///< higher if the name contains "accuracy", otherwise lower
  lower,
  higher,
};

/// Fields in order: monitor, min_delta, patience, better, restore_best_weights,
/// start_from_epoch
struct EarlyStoppingOptions {
  /// A name in Progress::logs(): "val_loss", "val_accuracy", "loss", ...
  std::string monitor = "val_loss";
  double min_delta = 0;  ///< smallest change that is an improvement, >= 0
  int64_t patience = 0;  ///< consecutive epochs without improvement, >= 0
  Better better = Better::automatic;
  /// Restore the parameters of the best epoch at the end of the fit, also
  /// without an early stop.
  bool restore_best_weights = false;
  int64_t start_from_epoch = 0;  ///< number of ignored first epochs, >= 0
};

/// Ends the fit after `patience` epochs without improvement of the monitored
/// value, at the earliest after the second epoch, as in Keras. NaN is never an
/// improvement. `restore_best_weights` costs a copy of the parameters.
/// Throws: ValueError for options out of range; NotFoundError, before the fit
/// calibrates or trains, for a name that the fit does not report.
std::shared_ptr<Callback> early_stopping(
    const EarlyStoppingOptions& options = {});

/// Fields in order: monitor, factor, patience, min_delta, cooldown, min_rate,
/// better
struct ReduceOnPlateauOptions {
  std::string monitor = "val_loss";
  float factor = 0.1f;      ///< multiplier of the learning rate, (0, 1)
  int64_t patience = 10;    ///< epochs without improvement, >= 1
  double min_delta = 1e-4;  ///< smallest change that is an improvement, >= 0
  int64_t cooldown = 0;     ///< ignored epochs after a reduction, >= 0
  float min_rate = 0;       ///< lower limit of the learning rate, >= 0
  Better better = Better::automatic;
};

/// Multiplies the learning rate by `factor` after `patience` epochs without
/// improvement of the monitored value, as Keras' ReduceLROnPlateau. The
/// optimizer retains the rate after the fit. Throws: as early_stopping().
std::shared_ptr<Callback> reduce_on_plateau(
    const ReduceOnPlateauOptions& options = {});

struct MovingAverageOptions {
  float decay = 0.99f;  ///< [0, 1)
};

/// Averages the trained parameters over the optimizer steps,
/// a = decay * a + (1 - decay) * w, starting from their initial values, and
/// assigns the averages at the end of the fit, as Keras' use_ema. Validation
/// during the fit uses the current parameters. The statistics of batch
/// normalization belong to the latest parameters, not to the averages: call
/// update_batch_statistics() afterwards.
/// Throws: ValueError for options out of range.
std::shared_ptr<Callback> exponential_moving_average(
    const MovingAverageOptions& options = {});

/// Freezes the statistics of batch normalization at the start of epoch
/// `from_epoch`, counted from 0, as quant::freeze_bn_stats(); they stay frozen
/// after the fit. Statistics that are frozen before the fit, by an earlier fit
/// for example, stay frozen (quant::freeze_bn_stats(model, false) unfreezes).
/// Quantization-aware training at large learning rates needs statistics that
/// follow the weights at first and constant ranges at the end.
/// Throws: ValueError for an epoch < 0; at the start of the fit, for an epoch
/// that the fit does not reach.
std::shared_ptr<Callback> freeze_batch_norm(int64_t from_epoch);

/// Runs quant::check_quantizers() on `samples` before training and after each
/// epoch, and warns once per quantizer and fault: dead channels, collapsed
/// scales, clipped values, NaN. Costs an inference of options.samples samples
/// per epoch.
/// Throws: at the start of the fit, errors of check_quantizers().
std::shared_ptr<Callback> quantizer_guard(
    const Dataset& samples, const quant::CheckOptions& options = {});

struct CsvLogOptions {
  bool append = false;  ///< keep the rows of an earlier fit; columns must agree
};

/// Writes a CSV file with a header and a row per epoch: number (from 1),
/// Progress::logs() and seconds. The file is replaced atomically after every
/// epoch.
/// Throws: at the start of the fit, IoError if the file cannot be written;
/// FormatError if the columns of the file to append to differ.
std::shared_ptr<Callback> csv_log(std::filesystem::path path,
                                  const CsvLogOptions& options = {});

}  // namespace octet::train
