// Which folder of images is which output of a model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>

#include "data_options.h"

namespace octet::program {

/// The names of the model's classes in the order of its outputs: those of
/// --class-names, else those of its file; none if nobody knows.
/// Throws: IoError and FormatError for a file of names; ValueError for another
/// number of names than outputs.
std::vector<std::string> class_names_for(const DataOptions& options,
                                         const DataTarget& target);

/// "'a', 'b', ... (12 in all)".
std::string few_classes(const std::vector<std::string>& names);

/// "classes (folder -> output): cat -> 0, dog -> 1; sorted by name": nothing
/// for data without folders of classes.
std::string classes_text(const io::OpenedData& opened,
                         const DataOptions& options, const DataTarget& target);

/// Warns if the labels fit the outputs clearly better in another order, naming
/// the outputs that seem to belong to them. `accuracy` is that of the model.
void warn_of_class_order(std::string_view command, const Model& model,
                         const Dataset& data, const io::OpenedData& opened,
                         double accuracy);

}  // namespace octet::program
