// The table of Octet's own layers; its source is generated from the list of
// layer sources in CMakeLists.txt. No static initialisers: a static library
// drops objects that nobody refers to.
#pragma once

#include <span>

#include <octet/layers/layer_def.h>

namespace octet {

std::span<const LayerDef* const> built_in_layer_defs();

}  // namespace octet
