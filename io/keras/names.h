// Names in files and in messages. Internal to io/keras.
#pragma once

#include <string>
#include <vector>

namespace octet::io {

/// The parts of a name between slashes.
std::vector<std::string> components(const std::string& name);

/// Keras' snake_case: "GlobalAveragePooling2D" is
/// "global_average_pooling2d", "ReLU" is "re_lu".
std::string keras_snake_case(const std::string& class_name);

/// "; there are 'a', 'b'" or "; did you mean 'a'?", for lists and names that
/// are not too long to compare.
std::string suggestions(const std::string& wanted,
                        const std::vector<std::string>& names);

/// "a, b", the first twenty of many; "none".
std::string listed(const std::vector<std::string>& items);

}  // namespace octet::io
