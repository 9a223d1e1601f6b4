// --loss, as the commands take it that train or judge.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>
#include <octet/train/evaluate.h>

#include "../command_line.h"

namespace octet::program {

/// A word, or NAME=word for each of several outputs.
void add_loss_option(Command& command, std::vector<std::string>& loss);

/// A loss, of each output that has one, and what is measured beside it.
struct Measured {
  train::Losses loss;  ///< with its metrics
  std::string name;    ///< of the loss
};

/// What --loss says, or what labels of classes ask for. Of several outputs
/// those are measured that have labels, with a warning about others.
/// Throws: ValueError for data without labels, for labels that could be of any
/// of several outputs, an unknown word, and for targets without --loss.
Measured measured_by(const std::vector<std::string>& loss, const Model& model,
                     const Dataset& data);

/// Whether a metric is a share, which is shown as percent.
bool is_share(const std::string& metric);
/// Of a column of their names.
size_t name_width(const std::vector<train::MetricValue>& metrics);

/// Loss and metrics as lines of text, and as what JSON takes.
std::string to_text(const train::Evaluation& evaluation,
                    const std::string& loss);
Config to_config(const train::Evaluation& evaluation, const std::string& loss);

/// The first metric of the only output, as what quant judges a model by.
std::function<double(const Model&, const Dataset&)> score_of(
    const Measured& by);

}  // namespace octet::program
