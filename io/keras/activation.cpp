// Keras' representations of an activation: null, a name, a layer, or a
// registered function.
#include <fmt/format.h>

#include <octet/layers/activation.h>
#include <octet/layers/custom_layer.h>
#include <octet/runtime/error.h>

#include "keras/layer_sequence.h"
#include "printable.h"

namespace octet::io {
namespace {

constexpr size_t kLongestActivation = 100;

std::string without_package(const std::string& name) {
  return name.substr(name.rfind('>') + 1);
}

// clip(0.2 x + 0.5, 0, 1) until Keras 3, which has clip(x / 6 + 0.5, 0, 1).
// Sources: keras/backend/tensorflow_backend.py of Keras 2;
// keras/src/activations/activations.py of Keras 3.
std::vector<LayerSpec> old_hard_sigmoid() {
  return {{"/hard_sigmoid_slope", "Rescaling",
           Config().set("scale", 0.2).set("offset", 0.5)},
          {"/hard_sigmoid", "ReLU", Config().set("max_value", 1.0)}};
}

KerasLayer layer_of(const Config& value) {
  KerasLayer layer = named_layer(value);
  layer.config = value.at("config");
  if (layer.name.empty()) layer.name = layer.written_class;
  return layer;
}

ActivationConversion from_name(const std::string& written,
                               const KerasContext& context) {
  KerasLayer users;
  users.registered = written;
  users.written_class = users.class_name = without_package(written);
  users.config = Config::Object();
  if (const KerasLayerFactory* factory = find_factory(context.options, users)) {
    return {"linear",
            {{"/" + users.class_name, users.class_name, users.config, factory,
              users.class_name}}};
  }
  const std::string name = users.class_name;
  if (name.size() > kLongestActivation) {
    throw FormatError("invalid_value", "activation",
                      fmt::format("must be a name, got '{}'", printable(name)));
  }
  if (name == "hard_sigmoid" && context.dialect.major < 3) {
    return {"linear", old_hard_sigmoid()};
  }
  if (has_activation_function(name)) return {name, {}};
  if (find_layer_def(name) != nullptr) {
    return {"linear", {{"/" + name, name, Config::Object(), nullptr, name}}};
  }
  try {
    expect_activation_function(name);
  } catch (const ValueError& error) {
    throw UnsupportedError(error);
  }
  return {name, {}};
}

}  // namespace

ActivationConversion activation_of(const Config& value,
                                   const KerasContext& context) {
  if (value.is_null()) return {};
  if (value.is_string()) return from_name(value.as_string(), context);
  const KerasLayer layer = layer_of(value);
  if (layer.written_class == "function") {
    return from_name(layer.config.as_string(), context);
  }
  if (layer.class_name == "Activation" && layer.config.is_object()) {
    return activation_of(layer.config.at("activation"), context);
  }
  if (!is_known(layer, context.options) || layer.operation) {
    throw UnsupportedError(
        "unsupported_layer", "activation",
        fmt::format("no equivalent function or layer for {}", text_of(layer)));
  }
  ActivationConversion form{"linear", layer_sequence(layer, context)};
  for (LayerSpec& step : form.steps) {
    step.suffix = "/" + layer.name + step.suffix;
    step.own_name = layer.name;
  }
  return form;
}

}  // namespace octet::io
