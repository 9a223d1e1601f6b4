// A class of keras.applications that is two layers in Octet. Internal to
// io/keras.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "keras/builder.h"

namespace octet::io {

inline constexpr std::string_view kScaledAddClass = "CustomScaleLayer";

std::unique_ptr<LayerBuilder> scaled_add_builder(const KerasLayer& layer,
                                                 std::string name,
                                                 BuildState& state);

}  // namespace octet::io
