#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/merging.h>
#include <octet/layers/recurrent.h>
#include <octet/runtime/error.h>

#include "base/checks.h"
#include "base/part_names.h"

namespace octet {
namespace {

struct MergeMode {
  std::string_view name;
  LayerHandle (*merge)(const std::string& name);
};

constexpr MergeMode kMergeModes[] = {
    {"ave",
     [](const std::string& name) -> LayerHandle {
       return Average({.name = name});
     }},
    {"concat",
     [](const std::string& name) -> LayerHandle {
       return Concatenate({.name = name});
     }},
    {"mul",
     [](const std::string& name) -> LayerHandle {
       return Multiply({.name = name});
     }},
    {"sum",
     [](const std::string& name) -> LayerHandle {
       return Add({.name = name});
     }},
};

// As in Keras, outputs of masked steps are 0 in a Bidirectional.
bool has_zeros(const Config& config, const SymbolicTensor& x) {
  return config.at("return_sequences") == Config(true) &&
         mask_of(x).node != nullptr;
}

// Returns the layer, or an equal layer that outputs 0 for masked steps.
LayerHandle forward_layer(const LayerHandle& layer, const SymbolicTensor& x) {
  Config config = layer->config();
  if (!has_zeros(config, x)) return layer;
  config.set("zero_output_for_mask", true);
  const LayerHandle result(create_layer(layer->class_name(), config));
  result->set_name(layer->name());
  return result;
}

// Returns an equal layer in the other direction.
std::shared_ptr<Layer> backward_layer(const Layer& forward,
                                      const SymbolicTensor& x) {
  Config config = forward.config();
  const Config* backwards = config.find("go_backwards");
  if (backwards == nullptr) {
    throw ValueError("invalid_value", "layer",
                     fmt::format("must be an LSTM, a GRU or a SimpleRNN, got "
                                 "a {}",
                                 forward.class_name()));
  }
  if (*backwards == Config(true)) {
    throw ValueError("invalid_value", "go_backwards",
                     "must be false: bidirectional() adds the layer that "
                     "goes backwards");
  }
  config.set("go_backwards", true).set("keep_order", true);
  if (has_zeros(config, x)) config.set("zero_output_for_mask", true);
  return create_layer(forward.class_name(), config);
}

}  // namespace

SymbolicTensor bidirectional(const SymbolicTensor& x, const LayerHandle& layer,
                             const BidirectionalOptions& o) {
  return with_context([&] { return frame_of("bidirectional", o.name); },
                      [&] {
                        const MergeMode& mode =
                            find_named("merge_mode", kMergeModes, o.merge_mode);
                        const LayerHandle backward(backward_layer(*layer, x));
                        if (layer->built()) {
                          throw ValueError("invalid_value", "layer",
                                           "must not have been called before");
                        }
                        if (!o.name.empty()) {
                          layer->set_name(part_name(o.name, "forward"));
                          backward->set_name(part_name(o.name, "backward"));
                        }
                        const LayerHandle forward = forward_layer(layer, x);
                        return mode.merge(o.name)({forward(x), backward(x)});
                      });
}

}  // namespace octet
