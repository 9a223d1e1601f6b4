// --head, --freeze and --unfreeze-after of octet train, and --class-weights.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <octet/io/data.h>
#include <octet/layers/model.h>

#include "../common/command_line.h"
#include "training_options.h"

namespace octet::program {

struct TransferOptions {
  int64_t head = 0;                 // outputs of a new classifier; 0: none
  std::vector<std::string> freeze;  // patterns of layer names
  int64_t unfreeze_after = 0;       // epochs; 0: never
  double frozen_rate = 0;           // 0: --rate, else the optimizer's default
};

void add_transfer_options(Command& command, TransferOptions& options);

/// Throws: ValueError for options that do not fit together.
void check_transfer_options(const TransferOptions& options,
                            const TrainingOptions& training, bool is_zoo);

/// Returns the model with a new classifier if --head is given.
/// Throws: ValueError, as with_classifier().
Model with_head(Model model, const TransferOptions& options, int64_t seed);

/// Freezes the layers of --freeze, except a new classifier, and returns them.
/// Layers that are frozen already are left out.
/// Throws: NotFoundError for a pattern without layers, with near names;
/// ValueError if no layer is left to train.
std::vector<std::shared_ptr<Layer>> freeze_layers(
    Model& model, const TransferOptions& options);

/// Returns a line with the number of trained parameters; "" without --freeze.
std::string frozen_text(const Model& model, const TransferOptions& options);

/// Trains for --unfreeze-after epochs, before the frozen layers are unfrozen.
void train_frozen(Model& model, const TransferOptions& options,
                  TrainingOptions training, const TrainingParts& parts,
                  const train::FitOptions& fit, bool quiet);

/// Adds --class-weights.
void add_class_weights_option(Command& command, std::string& class_weights);

/// Returns the weights of --class-weights for each class of a model: a list of
/// numbers, NAME=weight for some classes, or "balanced": samples / (classes *
/// samples of the class). Empty without the option.
/// Throws: ValueError for another form or number of weights, labels that are
/// not classes, and a class without samples.
std::vector<float> class_weights_of(const TrainingOptions& options,
                                    const std::vector<std::string>& names,
                                    const Model& model,
                                    const Dataset& training);

}  // namespace octet::program
