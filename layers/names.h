#pragma once

#include <span>
#include <string>
#include <string_view>

namespace octet {

/// "MaxPooling2D" -> "max_pooling2d", as Keras names layers.
/// Source: Keras, to_snake_case in keras/src/utils/naming.py.
std::string snake_case(std::string_view class_name);

/// Whether a name is like a pattern, in which * stands for any characters, or
/// none, and ? for one.
bool fits_pattern(std::string_view name, std::string_view pattern);

}  // namespace octet
