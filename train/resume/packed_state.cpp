#include "packed_state.h"

#include <utility>

#include "distributed/bytes.h"

namespace octet::train {

std::string pack(const TrainingState& state) {
  BytesWriter bytes;
  for (const Config* config :
       {&state.model.graph, &state.model.plan, &state.model.status,
        &state.fingerprint, &state.progress}) {
    bytes.add_config(*config);
  }
  bytes.add_value(uint64_t{state.model.weights.size()});
  for (const quant::NamedWeight& weight : state.model.weights) {
    bytes.add_text(weight.layer);
    bytes.add_text(weight.name);
    bytes.add_value(weight.trainable);
    bytes.add_tensor(weight.value);
  }
  bytes.add_value(uint64_t{state.tensors.size()});
  for (const auto& [name, tensor] : state.tensors) {
    bytes.add_text(name);
    bytes.add_tensor(tensor);
  }
  return bytes.take();
}

TrainingState unpack(std::string_view packed) {
  BytesReader bytes(packed);
  TrainingState state;
  for (Config* config :
       {&state.model.graph, &state.model.plan, &state.model.status,
        &state.fingerprint, &state.progress}) {
    *config = bytes.config();
  }
  for (auto left = bytes.value<uint64_t>(); left > 0; --left) {
    quant::NamedWeight& weight = state.model.weights.emplace_back();
    weight.layer = bytes.text();
    weight.name = bytes.text();
    weight.trainable = bytes.value<bool>();
    weight.value = bytes.tensor();
  }
  for (auto left = bytes.value<uint64_t>(); left > 0; --left) {
    std::string name = bytes.text();
    state.tensors.emplace(std::move(name), bytes.tensor());
  }
  return state;
}

}  // namespace octet::train
