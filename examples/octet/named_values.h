// Values of options for the inputs and outputs of a model: files as a path, or
// NAME=path where a model has several, and other words the same way.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace octet::program {

/// The path for each of `names`, "" where none is given. Of a single name the
/// value may be the path alone.
/// Throws: ValueError naming the option for a value without a name where there
/// are several, a name that there is not, or two paths for one.
std::vector<std::string> paths_for(std::string_view option,
                                   const std::vector<std::string>& values,
                                   const std::vector<std::string>& names);

/// The same for values that are not files, called `what` in messages.
std::vector<std::string> values_for(std::string_view option,
                                    std::string_view what,
                                    const std::vector<std::string>& values,
                                    const std::vector<std::string>& names);

}  // namespace octet::program
