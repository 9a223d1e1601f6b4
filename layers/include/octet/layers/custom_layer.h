// Layer classes of users: handles, the registry of all classes, and the
// interface through which layers export themselves to ONNX.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
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

// Export of layers to ONNX, implemented by io/onnx. Values have the axes of
// Keras: images are [n,h,w,c], sequences [n,l,c]. Export assigns the axis
// orders of the file afterwards.

/// A value of the ONNX graph.
struct OnnxValue {
  std::string name;  ///< unique in the graph; of a node's output or constant
  Shape shape;       ///< with the axes of Keras, batch included
};

/// A permutation of a tensor's elements: reshape to `split`, transpose by
/// `order`, reshape to `joined`.
struct Arrangement {
  Shape split = {};             ///< rank 0: unchanged
  std::vector<int> order = {};  ///< as Tensor::transposed(); empty: none
  Shape joined = {};            ///< rank 0: unchanged

  /// Returns the rearranged elements. Throws: ShapeError if `value` does not
  /// fit.
  Tensor apply(const Tensor& value) const;
  /// Returns the shape of apply()'s result for a value of this shape.
  Shape shape_of(const Shape& value) const;
  bool operator==(const Arrangement&) const = default;
};

/// Adds nodes and constants to an ONNX graph. Values are referred to by name.
class OnnxBuilder {
 public:
  /// Value of a node attribute: ONNX' types INT, FLOAT, STRING, INTS, FLOATS
  /// and STRINGS.
  using Attribute =
      std::variant<int64_t, float, std::string, std::vector<int64_t>,
                   std::vector<float>, std::vector<std::string>>;
  /// Attributes of a node by name.
  using Attributes = std::vector<std::pair<std::string, Attribute>>;

  virtual ~OnnxBuilder() = default;

  /// Adds a node named `name` (made unique) and returns the name of its output.
  virtual std::string add_node(std::string_view op_type, std::string_view name,
                               const std::vector<std::string>& inputs,
                               const Attributes& attributes = {}) = 0;
  /// Adds a constant (f32, i8, i64) and returns its name.
  virtual std::string add_initializer(std::string_view name,
                                      const Tensor& value) = 0;
  /// Adds `stored.apply(value)`, evaluated when the file is written if
  /// possible, so that large weights are in memory once.
  virtual std::string add_initializer(std::string_view name,
                                      const Tensor& value,
                                      const Arrangement& stored) {
    return add_initializer(name, stored.apply(value));
  }
  /// Adds QuantizeLinear and DequantizeLinear after `value`, sharing a scale
  /// and an int8 zero point, and returns the output of DequantizeLinear. The
  /// axis is written for per-channel parameters. Equal values with equal
  /// quantization parameters share a pair.
  virtual std::string add_qdq(const std::string& value, std::string_view name,
                              const QuantParams& qparams) = 0;
  /// Returns `constant`, [1,...] of rank `rank`, repeated for each sample of
  /// the value `x`; nodes named `name` repeat it for consumers that do not
  /// broadcast. Broadcasting consumers use one_sample() instead.
  virtual std::string add_repeated(std::string_view name,
                                   const std::string& constant, int rank,
                                   const std::string& x) = 0;
  /// Returns the constant that a value of add_repeated() repeats; for other
  /// values, the value itself.
  virtual std::string one_sample(const std::string& value) const = 0;
};

/// An OnnxBuilder bound to a layer and its quantize hook.
class EmitContext {
 public:
  /// Binds `builder`, which must outlive the context, to the layer named
  /// `layer`. hook: quantization of its weights; null: none.
  EmitContext(OnnxBuilder& builder, std::string layer,
              const QuantizeHook* hook = nullptr)
      : builder_(builder), layer_(std::move(layer)), hook_(hook) {}

  /// The builder and the layer's name, for nodes of other names.
  OnnxBuilder& builder() { return builder_; }
  const std::string& layer() const { return layer_; }
  /// Returns the same context with another hook.
  EmitContext with_hook(const QuantizeHook* hook) const {
    return EmitContext(builder_, layer_, hook);
  }

  /// Adds the layer's main node, named after the layer, and returns the name of
  /// its output.
  std::string node(std::string_view op_type,
                   const std::vector<std::string>& inputs,
                   const OnnxBuilder::Attributes& attributes = {});
  /// Adds an auxiliary node, named "layer/name", and returns the name of its
  /// output.
  std::string part(std::string_view op_type, std::string_view name,
                   const std::vector<std::string>& inputs,
                   const OnnxBuilder::Attributes& attributes = {});

  /// Adds the parameter as an initializer. `arrange` converts the Keras tensor
  /// to ONNX' layout, with the output channels on axis `onnx_axis` and each
  /// channel mapped to one or several adjacent slices. Under a hook, the values
  /// are quantized and followed by Q and DQ.
  std::string weight(const Parameter& parameter,
                     const std::function<Tensor(const Tensor&)>& arrange,
                     int onnx_axis);
  std::string weight(const Parameter& parameter, const Arrangement& stored,
                     int onnx_axis);
  /// The same for a vector in Keras' layout.
  std::string weight(const Parameter& parameter);

  /// Returns the intermediate tensor `x`, followed by Q and DQ if the hook
  /// quantizes it. See ForwardContext::intermediate.
  std::string intermediate(std::string_view name, const std::string& x);

  /// Adds a constant: an f32 scalar, or a list of i64 (shapes, axes).
  std::string scalar(std::string_view name, float value);
  std::string integers(std::string_view name,
                       const std::vector<int64_t>& values);

  /// Adds a node of an operator whose inputs and output have the channels as
  /// axis 1. `inputs[0]` is transposed from [n,...,c], and the result back.
  /// Returns a value of the shape `shape`.
  OnnxValue channels_first_node(std::string_view op_type,
                                std::vector<std::string> inputs,
                                const Shape& shape,
                                const OnnxBuilder::Attributes& attributes = {});
  /// Transposes [n,...,c] of this rank to [n,c,...], and back.
  std::string channels_first(const std::string& value, int rank);
  std::string channels_last(const std::string& value, int rank);

 private:
  /// Adds a quantized weight followed by Q and DQ.
  std::string quantized_weight(const std::string& name, const Tensor& arranged,
                               QuantParams qparams, int onnx_axis);

  OnnxBuilder& builder_;
  std::string layer_;
  const QuantizeHook* hook_;
};

}  // namespace octet
