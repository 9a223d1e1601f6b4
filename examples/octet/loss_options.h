// --loss, as the commands take it that train or judge.
#pragma once

#include <string>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>
#include <octet/train/evaluate.h>

#include "../command_line.h"

namespace octet::program {

void add_loss_option(Command& command, std::string& loss);

/// A loss and what is measured beside it.
struct Measured {
  train::Loss loss;
  train::Metrics metrics;
};

/// What --loss says, or what labels of classes ask for.
/// Throws: ValueError for a model with several outputs, data without labels,
/// an unknown word, and for targets without --loss.
Measured measured_by(const std::string& loss, const Model& model,
                     const Dataset& data);

/// Loss and metrics as lines of text, and as what JSON takes.
std::string to_text(const train::Evaluation& evaluation,
                    const std::string& loss);
Config to_config(const train::Evaluation& evaluation, const std::string& loss);

/// The first metric, as what quant judges a model by.
std::function<double(const Model&, const Dataset&)> score_of(
    const Measured& by);

}  // namespace octet::program
