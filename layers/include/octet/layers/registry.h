// The registry of layer classes: those of Octet, listed at build time from
// the layer sources, and those users register.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include <octet/layers/layer.h>
#include <octet/layers/layer_def.h>

namespace octet {

/// The name of the registry for a class that Keras, or an older version of it,
/// calls otherwise: "MaxPool2D" and "pkg>MaxPool2D" are "MaxPooling2D". Other
/// names come back as they are, without a package before a '>'.
std::string_view canonical_class_name(std::string_view name);

/// The class of that name, or of another name that Keras has for it. Null if
/// there is no such class.
const LayerDef* find_layer_def(std::string_view class_name);

/// All classes, Octet's first, each group in alphabetical order.
std::vector<const LayerDef*> layer_defs();

/// Adds a custom class; call it before the class is needed, from
/// one thread. `def` must outlive the program's use of it.
/// Throws: ValueError if the class exists.
void register_layer(const LayerDef& def);
void register_layer(const LayerDef&& def) = delete;  // a temporary is gone

/// Throws: UnsupportedError naming the nearest classes.
std::shared_ptr<Layer> create_layer(std::string_view class_name,
                                    const Config& config);

}  // namespace octet
