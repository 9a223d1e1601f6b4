// CustomScaleLayer of keras.applications' InceptionResNetV2: x + scale * y.
// Source: keras/src/applications/inception_resnet_v2.py.
#include "keras/scaled_add.h"

#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet::io {
namespace {

class ScaledAddBuilder final : public LayerBuilder {
 public:
  ScaledAddBuilder(const KerasLayer& layer, std::string name, BuildState& state)
      : layer_(layer), name_(std::move(name)), state_(state) {}

  std::vector<KerasValue> call(const std::vector<BuiltArgument>& arguments,
                               size_t index) override {
    const std::vector<KerasValue> values = only_tensors(arguments);
    if (values.size() != 2) {
      throw FormatError(
          "count_mismatch", "inbound_nodes",
          fmt::format("must have two tensors, got {}", values.size()));
    }
    const std::string name =
        index == 0 ? name_ : fmt::format("{}_{}", name_, index);
    const auto step = [&](const std::string& own, const char* class_name,
                          Config config,
                          const std::vector<BuiltArgument>& operands) {
      return chain_builder(layer_, own, {{"", class_name, std::move(config)}},
                           state_)
          ->call(operands, 0)[0];
    };
    const KerasValue scaled = step(
        name + "/scale", "Rescaling",
        Config().set("scale", layer_.config.at("scale")).set("offset", 0.0),
        {{"", values[1], {}}});
    return {step(name, "Add", Config::Object(),
                 {{"", values[0], {}}, {"", scaled, {}}})};
  }

  TargetLayer targets() const override {
    return {.name = layer_.name, .class_name = layer_.written_class};
  }

 private:
  const KerasLayer& layer_;
  std::string name_;
  BuildState& state_;
};

}  // namespace

std::unique_ptr<LayerBuilder> scaled_add_builder(const KerasLayer& layer,
                                                 std::string name,
                                                 BuildState& state) {
  return std::make_unique<ScaledAddBuilder>(layer, std::move(name), state);
}

}  // namespace octet::io
