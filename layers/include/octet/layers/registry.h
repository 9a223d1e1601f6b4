// The registry of layer classes: Octet's, listed at build time from the layer
// sources, and classes registered by users.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include <octet/layers/layer.h>
#include <octet/layers/layer_def.h>

namespace octet {

/// Returns the registered name of a class that a Keras version names
/// differently: "MaxPool2D" and "pkg>MaxPool2D" return "MaxPooling2D". Other
/// names are returned without a package prefix ("pkg>").
std::string_view canonical_class_name(std::string_view name);

/// Returns the class of that name or Keras alias; null if there is none.
const LayerDef* find_layer_def(std::string_view class_name);

/// Returns all classes, Octet's first, each group in alphabetical order.
std::vector<const LayerDef*> layer_defs();

/// Registers a custom class. Not thread-safe; call it before the class is used.
/// `def` must outlive all uses.
/// Throws: ValueError if the name or an alias exists.
void register_layer(const LayerDef& def);
void register_layer(const LayerDef&& def) = delete;  // would dangle

/// Creates a layer. Throws: UnsupportedError for an unknown class.
std::shared_ptr<Layer> create_layer(std::string_view class_name,
                                    const Config& config);

}  // namespace octet
