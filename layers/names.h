#pragma once

#include <span>
#include <string>
#include <string_view>

namespace octet {

/// "MaxPooling2D" -> "max_pooling2d", as Keras names layers.
/// Source: Keras, to_snake_case in keras/src/utils/naming.py.
std::string snake_case(std::string_view class_name);

}  // namespace octet
