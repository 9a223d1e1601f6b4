// Options of octet train and octet qat.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <octet/io/data.h>
#include <octet/train/fit.h>

#include "../common/checkpoint_options.h"
#include "../common/command_line.h"
#include "data_options.h"

namespace octet::program {

struct TrainingOptions {
  int64_t epochs = 0;  // 0: default of the command
  int64_t batch = 0;   // 0: min(64, samples)
  std::string optimizer = "";
  double rate = 0;  // 0: default of the optimizer
  std::string schedule = "";
  double warmup = 0;
  std::string augment = "";            // "flip,crop"
  std::string validation = "";         // share or path; "": from the data
  std::string log = "";                // CSV file
  std::vector<std::string> loss = {};  // see add_loss_option()
  std::string class_weights = "";      // "balanced", "1,2.5" or "cat=2"
  int64_t seed = 1;
  int64_t threads = 0;  // 0: all cores
  CheckpointOptions checkpoint = {};
  bool preserve_zeros = false;
  bool append_log = false;  // keep the rows of an earlier phase
};

/// Help of options whose defaults depend on the command.
struct TrainingHelp {
  const char* epochs;
  const char* rate;
  const char* optimizer;
  const char* schedule;
};

void add_training_options(Command& command, TrainingOptions& options,
                          const TrainingHelp& help);

/// Throws: ValueError for unknown words.
train::Optimizer make_optimizer(const std::string& name, double rate);
train::Schedule make_schedule(const TrainingOptions& options);
/// Returns augmentations of a list, for images with values up to `high`.
train::Augmentation make_augmentation(const std::string& list, float high = 1);
/// Checks all of these options before data is loaded.
void check_training_options(const TrainingOptions& options);

/// Training data and validation data.
struct TrainingParts {
  Dataset training;
  std::optional<Dataset> validation;
  std::string validation_is;  ///< description: "the data's test part"
};

/// Splits or opens the validation data.
/// Throws: as open_data(); ValueError for a validation that is neither a share
/// in [0,1) nor a path, or whose classes differ.
TrainingParts parts_of(const io::OpenedData& data,
                       const TrainingOptions& options,
                       const DataOptions& data_options,
                       const DataTarget& target);

/// Returns options of fit() without optimizer and schedule. `parts` must
/// outlive them.
/// Throws: ValueError for brightness or contrast augmentation if values are
/// neither in [0,1] nor in [0,255].
train::FitOptions fit_options_of(const TrainingOptions& options,
                                 const TrainingParts& parts,
                                 const std::string& phase, bool quiet);

}  // namespace octet::program
