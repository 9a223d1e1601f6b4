// User-defined layers.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <octet/layers/layers.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

namespace octet {

/// Returns its first input; base class of test layers.
class Plain : public Layer {
 public:
  Config config() const override { return Config::Object(); }
  Shape output_shape(std::span<const Shape> inputs) const override {
    return inputs[0];
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return inputs[0];
  }
};

/// x + offset, with `offset` [c] starting as the option `start`. Registered
/// by register_offset().
class OffsetLayer final : public Plain {
 public:
  explicit OffsetLayer(float start) : start_(start) {}
  std::string class_name() const override { return "UserOffset"; }
  Config config() const override { return Config().set("start", start_); }
  void build(std::span<const Shape> inputs) override {
    offset_ = add_parameter("offset", {inputs[0][-1]},
                            {.initializer = constant_value(start_)});
  }
  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    return bias_add(inputs[0], context.read(at(offset_)));
  }

 private:
  float start_;
  size_t offset_ = 0;
};

class Offset : public LayerHandle {
 public:
  explicit Offset(float start, std::string name = "")
      : LayerHandle(std::make_shared<OffsetLayer>(start)) {
    layer()->set_name(std::move(name));
  }
};

inline const LayerDef offset_def{
    .class_name = "UserOffset",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      const Config* start = config.find("start");
      return std::make_shared<OffsetLayer>(
          start == nullptr ? 0.0f : static_cast<float>(start->as_number()));
    },
};

/// Registers UserOffset once per process.
inline void register_offset() {
  static const bool done = (register_layer(offset_def), true);
  (void)done;
}

/// x + y.
class SumLayer final : public Plain {
 public:
  std::string class_name() const override { return "UserSum"; }
  Shape output_shape(std::span<const Shape> inputs) const override {
    if (inputs.size() != 2 || inputs[0] != inputs[1]) {
      throw ShapeError("shape_mismatch", "inputs",
                       "two of equal shape are required");
    }
    return inputs[0];
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return add(inputs[0], inputs[1]);
  }
  std::shared_ptr<Layer> clone(CloneContext&) const override {
    auto copy = std::make_shared<SumLayer>();
    copy->set_name(name());
    return copy;
  }
};

class Sum : public LayerHandle {
 public:
  explicit Sum(std::string name = "")
      : LayerHandle(std::make_shared<SumLayer>()) {
    layer()->set_name(std::move(name));
  }
};

/// Throws in its forward pass.
class FailingLayer final : public Plain {
 public:
  std::string class_name() const override { return "UserFailing"; }
  Variable forward(const ForwardContext&,
                   std::span<const Variable>) const override {
    throw ValueError("missing_value", "disk", "no disk");
  }
};

}  // namespace octet
