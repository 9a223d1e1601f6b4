// custom_layer: creates handles of user-defined layer classes.
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

#include <octet/layers/graph.h>

namespace octet {

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

}  // namespace octet
