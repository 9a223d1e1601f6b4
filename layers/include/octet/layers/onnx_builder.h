// What a layer needs to write itself as ONNX; io/onnx implements it. ONNX
// images are NCHW, and sequences NCL where convolutions read them, so a value
// carries its Keras (NHWC) shape and a note of the order it is stored in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <octet/layers/layer.h>

namespace octet {

/// A value of the ONNX graph.
struct OnnxValue {
  std::string name;
  Shape shape;  ///< in Keras' layout; images are stored NCHW
  /// Of a sequence [n,l,c]: stored [n,c,l]. Layers see it only if they say that
  /// they take it (LayerDef::sequences).
  bool ncl = false;
  /// Set after Flatten of an image [h,w,c]: the features are in the order
  /// c,h,w. Dense permutes its rows; others call keras_order().
  Shape flattened_from = {};

  bool channels_first() const { return ncl || shape.rank() == 4; }
  /// Where Keras' axis, from 0, is in ONNX.
  int64_t onnx_axis(int64_t axis) const;
};

/// A constant for each channel in the shape in which it broadcasts over `x`.
Tensor beside_channels(const Tensor& per_channel, const OnnxValue& x);

/// The elements of a tensor in another order: its axes are taken apart, put in
/// order and joined again.
struct Arrangement {
  Shape split = {};             ///< taken apart; rank 0: as they are
  std::vector<int> order = {};  ///< as Tensor::transposed(); empty: as they are
  Shape joined = {};            ///< rank 0: as they are then

  Tensor apply(const Tensor& value) const;
  /// That of what apply() gives for a value of this shape.
  Shape shape_of(const Shape& value) const;
  bool operator==(const Arrangement&) const = default;
};

class OnnxBuilder {
 public:
  using Attribute =
      std::variant<int64_t, float, std::string, std::vector<int64_t>>;
  using Attributes = std::vector<std::pair<std::string, Attribute>>;

  virtual ~OnnxBuilder() = default;

  /// Adds a node named `name` (made unique) and returns its output's name.
  virtual std::string add_node(std::string_view op_type, std::string_view name,
                               const std::vector<std::string>& inputs,
                               const Attributes& attributes = {}) = 0;
  /// Adds a constant (f32, i8, i64) and returns its name.
  virtual std::string add_initializer(std::string_view name,
                                      const Tensor& value) = 0;
  /// The same of `stored.apply(value)`, which may be made as late as when the
  /// file is written: large weights then are in memory once.
  virtual std::string add_initializer(std::string_view name,
                                      const Tensor& value,
                                      const Arrangement& stored) {
    return add_initializer(name, stored.apply(value));
  }
  /// Adds QuantizeLinear and DequantizeLinear after `value`, sharing one
  /// scale and one int8 zero point, and returns the DQ's output. The axis is
  /// written for per-channel grids. The same value with the same grid gets
  /// one pair only.
  virtual std::string add_qdq(const std::string& value, std::string_view name,
                              const Grid& grid) = 0;
  /// `constant`, [1,...] of that rank, for each sample of the value `x`; nodes
  /// named `name` make it for those that read it. What broadcasts reads
  /// one_sample() of it.
  virtual std::string add_repeated(std::string_view name,
                                   const std::string& constant, int rank,
                                   const std::string& x) = 0;
  /// The constant that such a value repeats; of others the value itself.
  virtual std::string one_sample(const std::string& value) const = 0;
};

/// The builder as one layer sees it.
class EmitContext {
 public:
  EmitContext(OnnxBuilder& builder, std::string layer,
              const QuantizeHook* hook = nullptr)
      : builder_(builder), layer_(std::move(layer)), hook_(hook) {}

  OnnxBuilder& builder() { return builder_; }
  const std::string& layer() const { return layer_; }
  /// The same builder with a hook inside the layer.
  EmitContext with_hook(const QuantizeHook* hook) const {
    return EmitContext(builder_, layer_, hook);
  }

  /// The node that does what the layer does, named after it.
  std::string node(std::string_view op_type,
                   const std::vector<std::string>& inputs,
                   const OnnxBuilder::Attributes& attributes = {});
  /// One before or behind it, "layer/name".
  std::string part(std::string_view op_type, std::string_view name,
                   const std::vector<std::string>& inputs,
                   const OnnxBuilder::Attributes& attributes = {});

  /// The parameter as an initializer, in ONNX' arrangement: `arrange` takes
  /// the Keras tensor to ONNX' and puts the output channels on axis
  /// `onnx_axis`, each slice of the channel axis as one or several neighbours
  /// there. Under a hook the values are stored on the grid and
  /// followed by Q and DQ.
  std::string weight(const Parameter& parameter,
                     const std::function<Tensor(const Tensor&)>& arrange,
                     int onnx_axis);
  std::string weight(const Parameter& parameter, const Arrangement& stored,
                     int onnx_axis);
  /// The same for a vector that needs no rearranging.
  std::string weight(const Parameter& parameter);

  /// The value `x` of a tensor between two products of the layer, with Q and
  /// DQ after it where the hook says so. See ForwardContext::inner.
  std::string inner(std::string_view name, const std::string& x);

  /// A constant of one f32 number, or of a list of i64 (shapes, axes).
  std::string scalar(std::string_view name, float value);
  std::string integers(std::string_view name,
                       const std::vector<int64_t>& values);

  /// `value` stored as Keras does, images NHWC, for layers that mix axes. The
  /// other way: what is stored so, of shape `shape`, as a value.
  std::string keras_layout(const OnnxValue& value);
  OnnxValue from_keras_layout(std::string name, const Shape& shape,
                              bool ncl = false);

  /// `value` with its features in Keras' order: after Flatten of an image
  /// this takes a Reshape, Transpose and Reshape.
  OnnxValue keras_order(const OnnxValue& value);

 private:
  /// A weight on the grid, with Q and DQ behind it.
  std::string quantized_weight(const std::string& name, const Tensor& arranged,
                               Grid grid, int onnx_axis);

  OnnxBuilder& builder_;
  std::string layer_;
  const QuantizeHook* hook_;
};

}  // namespace octet
