// Matches the inputs of a data set to a model's inputs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>

namespace octet {

/// Returns the names of the inputs, in model order.
std::vector<std::string> input_names(const Model& model);

/// Returns `data` with its inputs in the order of the model's: matched by name,
/// or in the given order if they have no names. The name of a single input is
/// ignored.
/// Throws: ValueError for an empty data set, a wrong number of inputs, unknown
/// names or other shapes; `subject` is the subject of the error.
Dataset data_for(std::string_view subject, const Model& model,
                 const Dataset& data);

}  // namespace octet
