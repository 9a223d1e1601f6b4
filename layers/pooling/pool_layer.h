// MaxPooling1D, MaxPooling2D, AveragePooling1D and AveragePooling2D: a layer
// template over sequences or images, selected by the type of the options.
#pragma once

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"
#include "pooling/pool_window.h"

namespace octet {

template <class Options>
inline constexpr bool kDilates = requires(Options o) {
  o.dilation_rate;
};

template <class Visitor, class Options>
void pool_fields(Visitor& v, Options& o) {
  v("pool_size", o.pool_size);
  v("strides", o.strides);
  v("padding", o.padding);
  if constexpr (kDilates<Options>)
    v.extra("dilation_rate", o.dilation_rate, decltype(o.dilation_rate)(1));
}

enum class Pooling { average, max };

template <class Options, Pooling kKind>
class PoolLayer final : public Layer {
 public:
  explicit PoolLayer(const Options& options)
      : o_(options),
        window_(o_.pool_size, o_.strides, o_.padding, dilation(options)) {
    const Size2 strides = window_.strides();
    if constexpr (requires { o_.strides.h; }) {
      o_.strides = strides;
    } else {
      o_.strides = strides.w;
    }
    if (kKind == Pooling::max && window_.cells() > kMaxPoolCells) {
      throw UnsupportedError(
          "unsupported_value", "pool_size",
          fmt::format("must have at most {} elements, got {}x{}", kMaxPoolCells,
                      window_.size().h, window_.size().w));
    }
  }

  std::string class_name() const override {
    return fmt::format("{}Pooling{}D",
                       kKind == Pooling::max ? "Max" : "Average",
                       window_.over_images() ? 2 : 1);
  }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.sign = OutputSign::of_inputs;
    return facts;
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = window_.input(inputs);
    return window_.output_shape(x, x[-1]);
  }

  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    const Variable& x = inputs[0];
    const bool max = kKind == Pooling::max;
    if (window_.over_images()) {
      const WindowOptions on = window_.on(x.shape());
      return max ? max_pool2d(x, window_.size(), on)
                 : avg_pool2d(x, window_.size(), on);
    }
    const WindowOptions1D on = window_.on_sequence(x.shape());
    return max ? max_pool1d(x, window_.size().w, on)
               : avg_pool1d(x, window_.size().w, on);
  }

  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const Shape& x = inputs[0].shape;
    OnnxBuilder::Attributes attributes{{"kernel_shape", window_.onnx_size()},
                                       {"strides", window_.onnx_strides()},
                                       {"pads", window_.onnx_pads(x)}};
    if (window_.dilation() != Size2(1)) {
      attributes.emplace_back("dilations", window_.onnx_dilations());
    }
    if (kKind == Pooling::average) {
      attributes.emplace_back("count_include_pad", int64_t{0});
    }
    return context.channels_first_node(
        kKind == Pooling::max ? "MaxPool" : "AveragePool", {inputs[0].name},
        output_shape(std::span(&x, 1)), attributes);
  }

 private:
  static auto dilation(const Options& options) {
    if constexpr (kDilates<Options>) {
      return options.dilation_rate;
    } else {
      return decltype(options.pool_size)(1);
    }
  }

  Options o_;
  PoolWindow window_;
};

}  // namespace octet
