// Names in files and messages. Internal to io/keras.
#pragma once

#include <string>
#include <vector>

namespace octet::io {

/// Splits a name at slashes.
std::vector<std::string> components(const std::string& name);

/// Returns a name in Keras' snake_case: "GlobalAveragePooling2D" becomes
/// "global_average_pooling2d", "ReLU" becomes "re_lu".
std::string keras_snake_case(const std::string& class_name);

/// "; there are 'a', 'b'" or "; did you mean 'a'?", unless lists or names are
/// too long to compare.
std::string suggestions(const std::string& wanted,
                        const std::vector<std::string>& names);

/// "a, b", the first twenty; "none" if empty.
std::string listed(const std::vector<std::string>& items);

}  // namespace octet::io
