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

// Returns an equal layer in the other direction.
std::shared_ptr<Layer> backward_layer(const Layer& forward) {
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
  return create_layer(forward.class_name(), config);
}

}  // namespace

SymbolicTensor bidirectional(const SymbolicTensor& x, const LayerHandle& layer,
                             const BidirectionalOptions& o) {
  return with_context([&] { return frame_of("bidirectional", o.name); },
                      [&] {
                        const MergeMode& mode =
                            find_named("merge_mode", kMergeModes, o.merge_mode);
                        const LayerHandle backward(backward_layer(*layer));
                        if (layer->built()) {
                          throw ValueError("invalid_value", "layer",
                                           "must not have been called before");
                        }
                        if (!o.name.empty()) {
                          layer->set_name(part_name(o.name, "forward"));
                          backward->set_name(part_name(o.name, "backward"));
                        }
                        return mode.merge(o.name)({layer(x), backward(x)});
                      });
}

}  // namespace octet
