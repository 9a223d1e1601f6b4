// Which input of a model is which of a data set.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>

namespace octet {

/// What the inputs are called, in the model's order.
std::vector<std::string> input_names(const Model& model);

/// `data` with its inputs in the order of the model's: by their names, or as
/// they are where they have none. The name of a single one is not looked at.
/// Throws: ValueError naming `subject`, what does not fit and what the model
/// takes: no samples, another number of inputs, unknown names, other shapes.
Dataset data_for(std::string_view subject, const Model& model,
                 const Dataset& data);

}  // namespace octet
