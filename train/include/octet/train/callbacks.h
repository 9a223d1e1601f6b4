// Callbacks at hand: early stopping, learning rates, averages, a log as CSV.
// Each belongs to one fit at a time and may be used for another one afterwards.
// Checkpoints are an option of fit().
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
  automatic,  ///< higher where the name has "accuracy", else lower
  lower,
  higher,
};

/// Fields in order: monitor, min_delta, patience, better, restore_best_weights,
/// start_from_epoch
struct EarlyStoppingOptions {
  /// A name in Progress::logs(): "val_loss", "val_accuracy", "loss", ...
  std::string monitor = "val_loss";
  double min_delta = 0;  ///< what counts as better, >= 0
  int64_t patience = 0;  ///< epochs in a row that are not, >= 0
  Better better = Better::automatic;
  /// Put the parameters of the best epoch back at the end of the fit, also
  /// when it was not stopped early.
  bool restore_best_weights = false;
  int64_t start_from_epoch = 0;  ///< epochs not looked at, >= 0
};

/// Ends the fit when the monitored value has not become better for `patience`
/// epochs, at the earliest after the second one, as in Keras. NaN is never
/// better. Costs a copy of the parameters where they are put back.
/// Throws: ValueError for options out of range; NotFoundError, before the fit
/// calibrates or trains, for a name that the fit does not report.
std::shared_ptr<Callback> early_stopping(
    const EarlyStoppingOptions& options = {});

/// Fields in order: monitor, factor, patience, min_delta, cooldown, min_rate,
/// better
struct ReduceOnPlateauOptions {
  std::string monitor = "val_loss";
  float factor = 0.1f;      ///< on the learning rate, (0, 1)
  int64_t patience = 10;    ///< epochs without improvement, >= 1
  double min_delta = 1e-4;  ///< >= 0
  int64_t cooldown = 0;     ///< epochs after a reduction not looked at, >= 0
  float min_rate = 0;       ///< where the reductions end, >= 0
  Better better = Better::automatic;
};

/// Multiplies the optimizer's learning rate when the monitored value has not
/// become better, as Keras' ReduceLROnPlateau. The rate stays with the
/// optimizer. Throws: as early_stopping.
std::shared_ptr<Callback> reduce_on_plateau(
    const ReduceOnPlateauOptions& options = {});

struct MovingAverageOptions {
  float decay = 0.99f;  ///< [0, 1)
};

/// Averages the trained parameters over the steps of the optimizer,
/// a = decay * a + (1 - decay) * w from their values before the first one, and
/// gives the parameters their averages at the end of the fit; validation on
/// the way sees the parameters as they are. The statistics of batch
/// normalization go with the latest parameters: see update_batch_statistics().
/// As Keras' use_ema. Throws: ValueError for options out of range.
std::shared_ptr<Callback> exponential_moving_average(
    const MovingAverageOptions& options = {});

/// From the beginning of that epoch, which counts from 0, the statistics of
/// batch normalization stay as they are, in training, too, and also after the
/// fit: as quant::freeze_bn_stats(). Until then they follow the weights, but
/// for those that are frozen already, by an earlier fit, say
/// (quant::freeze_bn_stats(model, false) ends that).
/// Quantization-aware training at large rates needs both: statistics that
/// follow at first, and none that move the ranges in the end.
/// Throws: ValueError for an epoch < 0; as the fit begins, for one that it does
/// not come to.
std::shared_ptr<Callback> freeze_batch_norm(int64_t from_epoch);

/// Warns of what quant::check_quantizers() finds on `samples` before training
/// and at the end of each epoch, once of each fault of a quantizer: dead
/// channels, scales that collapse, values beyond the range, NaN. Costs an
/// inference of options.samples of them an epoch.
/// Throws: as the fit begins, as check_quantizers().
std::shared_ptr<Callback> quantizer_guard(
    const Dataset& samples, const quant::CheckOptions& options = {});

struct CsvLogOptions {
  bool append = false;  ///< after the rows of an earlier fit with these columns
};

/// One row per epoch: its number (from 1), Progress::logs() and its seconds,
/// under the names of the columns. The file is complete after every epoch: it
/// is written beside and renamed.
/// Throws: as the fit begins, IoError if it cannot be written; FormatError if
/// the file to append to has other columns.
std::shared_ptr<Callback> csv_log(std::filesystem::path path,
                                  const CsvLogOptions& options = {});

}  // namespace octet::train
