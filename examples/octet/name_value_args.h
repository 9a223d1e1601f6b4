// Option values per model input or output: NAME=value, or the value alone if
// there is a single name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace octet::program {

/// Returns the path for each of `names`, "" without a path. Arguments may use
/// the other names `file` of the same inputs or outputs in an ONNX file.
/// Throws: ValueError with the option for a path without a name if there are
/// several names, an unknown name, or two paths for a name.
std::vector<std::string> paths_for(std::string_view option,
                                   const std::vector<std::string>& values,
                                   const std::vector<std::string>& names,
                                   const std::vector<std::string>& file = {});

/// Returns the value for each of `names`, like paths_for(). Messages call a
/// value `what`.
std::vector<std::string> values_for(std::string_view option,
                                    std::string_view what,
                                    const std::vector<std::string>& values,
                                    const std::vector<std::string>& names,
                                    const std::vector<std::string>& file = {});

}  // namespace octet::program
