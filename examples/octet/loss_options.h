// --loss of the commands that train or evaluate.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>
#include <octet/train/evaluate.h>

#include "../common/command_line.h"

namespace octet::program {

/// Adds --loss: a word, or NAME=word per output.
void add_loss_option(Command& command, std::vector<std::string>& loss);

/// Losses of the outputs, with metrics.
struct Measured {
  train::Losses loss;  ///< with metrics
  std::string name;    ///< name of the loss
};

/// Returns the loss chosen by --loss, or the default for class labels. With
/// several outputs, measures the labeled outputs and warns of the others.
/// `file_outputs`: see DataTarget.
/// Throws: ValueError for data without labels, ambiguous labels, an unknown
/// word, and targets without --loss.
Measured measured_by(const std::vector<std::string>& loss, const Model& model,
                     const Dataset& data,
                     const std::vector<std::string>& file_outputs = {});

/// Returns whether a metric is a share, shown in percent.
bool is_share(const std::string& metric);
/// Returns the width of the column of metric names.
size_t name_width(const std::vector<train::MetricValue>& metrics);

/// Returns loss and metrics as lines of text, or as JSON fields.
std::string to_text(const train::Evaluation& evaluation,
                    const std::string& loss);
Config to_config(const train::Evaluation& evaluation, const std::string& loss);

/// Returns a function that computes the first metric of the only output, as the
/// score for quant.
std::function<double(const Model&, const Dataset&)> score_of(
    const Measured& by);

}  // namespace octet::program
