// Layer classes of users: handles, and the registry of all classes.
#pragma once

#include <concepts>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <octet/layers/graph.h>
#include <octet/layers/layer.h>

namespace octet {

// custom_layer: creates handles of user-defined layer classes.

/// A class derived from Layer that overrides all of its pure virtual functions.
template <class L>
concept ConcreteLayer = std::derived_from<L, Layer> && !std::is_abstract_v<L>;

/// Creates a layer of class `L` and returns a callable handle:
///
///   LayerHandle GlobalMinPooling2D() {
///     return custom_layer<GlobalMinPooling2DLayer>();
///   }
///
/// Like std::make_shared, but the compile error names the function of Layer
/// that the class does not override.
template <class L, class... Args>
LayerHandle custom_layer(Args&&... args) {
  static_assert(std::is_base_of_v<Layer, L>,
                "custom_layer<L>: L must be derived from octet::Layer");
  if constexpr (ConcreteLayer<L>) {
    return LayerHandle(std::make_shared<L>(std::forward<Args>(args)...));
  } else if constexpr (std::derived_from<L, Layer>) {
    // &L::f has the type of Layer's member unless L overrides f.
    constexpr bool shape = !std::same_as<decltype(&L::output_shape),
                                         decltype(&Layer::output_shape)>;
    constexpr bool forward =
        !std::same_as<decltype(&L::forward), decltype(&Layer::forward)>;
    constexpr bool named =
        !std::same_as<decltype(&L::class_name), decltype(&Layer::class_name)>;
    constexpr bool configured =
        !std::same_as<decltype(&L::config), decltype(&Layer::config)>;
    static_assert(shape, "custom_layer<L>: L must override output_shape()");
    static_assert(forward, "custom_layer<L>: L must override forward()");
    static_assert(named, "custom_layer<L>: L must override class_name()");
    static_assert(configured, "custom_layer<L>: L must override config()");
    static_assert(!(shape && forward && named && configured),
                  "custom_layer<L>: L has a pure virtual function");
    return LayerHandle(nullptr);
  } else {
    return LayerHandle(nullptr);
  }
}

// The registry of layer classes: Octet's, listed at build time from the layer
// sources, and classes registered by users.

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
