// The table of Octet's layer classes, generated from the list of layer sources
// in CMakeLists.txt. Static initializers would not work: linkers drop
// unreferenced objects of static libraries.
#pragma once

#include <span>

#include <octet/layers/layer.h>

namespace octet {

std::span<const LayerDef* const> built_in_layer_defs();

}  // namespace octet
