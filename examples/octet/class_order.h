// Mapping of class folders to model outputs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>

#include "data_options.h"

namespace octet::program {

/// Returns class names in output order: from --class-names, else from the model
/// file; empty if unknown.
/// Throws: IoError and FormatError for a file of names; ValueError if the
/// numbers of names and outputs differ.
std::vector<std::string> class_names_for(const DataOptions& options,
                                         const DataTarget& target);

/// Returns up to five names: "'a', 'b', ... (12 in all)".
std::string few_classes(const std::vector<std::string>& names);

/// Returns "classes (folder -> output): cat -> 0, dog -> 1; sorted by name", or
/// "" for data without class folders.
std::string classes_text(const io::OpenedData& opened,
                         const DataOptions& options, const DataTarget& target);

/// Warns if a permutation of the labels fits the outputs clearly better, and
/// names the outputs they probably belong to. `accuracy` is the accuracy of the
/// model.
void warn_of_class_order(std::string_view command, const Model& model,
                         const Dataset& data, const io::OpenedData& opened,
                         double accuracy);

/// Warns of outputs of a new classifier without training samples, if labels are
/// numbers.
/// Throws: ValueError if all training samples have the same class.
void check_trained_classes(const Model& model, const Dataset& training,
                           const io::OpenedData& opened);

}  // namespace octet::program
