// The options of training, as octet train and octet qat take them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <octet/io/open_data.h>
#include <octet/train/fit.h>

#include "../checkpoint_options.h"
#include "../command_line.h"
#include "data_options.h"

namespace octet::program {

struct TrainingOptions {
  int64_t epochs = 0;  // 0: what the command says
  int64_t batch = 0;   // 0: 64, or all samples if there are fewer
  std::string optimizer = "";
  double rate = 0;  // 0: the optimizer's
  std::string schedule = "";
  double warmup = 0;
  std::string augment = "";     // "flip,crop"
  std::string validation = "";  // a share, or a path; "": what the data has
  std::string log = "";         // a CSV file
  std::vector<std::string> loss = {};  // see add_loss_option()
  int64_t seed = 1;
  int64_t threads = 0;  // 0: all cores
  CheckpointOptions checkpoint = {};
};

/// What the help says of options whose defaults a command decides on.
struct TrainingHelp {
  const char* epochs;
  const char* rate;
  const char* optimizer;
  const char* schedule;
};

void add_training_options(Command& command, TrainingOptions& options,
                          const TrainingHelp& help);

/// Throws: ValueError for words that there are not.
train::Optimizer make_optimizer(const std::string& name, double rate);
train::Schedule make_schedule(const TrainingOptions& options);
/// For images with values up to `high`.
train::Augmentation make_augmentation(const std::string& list, float high = 1);
/// All of the above, before data is read or a model trained.
void check_training_options(const TrainingOptions& options);

/// What is trained on, and what the trained model is judged by.
struct TrainingParts {
  Dataset training;
  std::optional<Dataset> validation;
  std::string validation_is;  ///< "the data's own test part", ...
};

/// Throws: as open_data(); ValueError for a validation that is neither a share
/// in [0,1) nor a path, or that has other classes.
TrainingParts parts_of(const io::OpenedData& data,
                       const TrainingOptions& options,
                       const DataOptions& data_options,
                       const DataTarget& target);

/// What fit() takes but for optimizer and schedule. `parts` must outlive it.
/// Throws: ValueError for changes of brightness or contrast where the values
/// are neither in [0,1] nor in [0,255].
train::FitOptions fit_options_of(const TrainingOptions& options,
                                 const TrainingParts& parts,
                                 const std::string& phase, bool quiet);

}  // namespace octet::program
