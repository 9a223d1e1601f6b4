// Names of layers, in models and in errors.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace octet {

class Layer;

/// Returns "Conv2D 'stem'", the subject of errors; "Conv2D" for an unnamed
/// layer.
std::string subject_of(const Layer& layer);

/// Converts "MaxPooling2D" to "max_pooling2d", as Keras names layers.
/// Source: Keras, to_snake_case in keras/src/utils/naming.py.
std::string snake_case(std::string_view class_name);

/// Returns whether a name equals a pattern or matches it: * stands for any
/// characters, or none, ? for a single character, [0-9] and [!a-c] for one of a
/// set.
bool fits_pattern(std::string_view name, std::string_view pattern);

}  // namespace octet
