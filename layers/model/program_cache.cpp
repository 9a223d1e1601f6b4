#include "model/program_cache.h"

#include <fmt/format.h>

#include <octet/runtime/detail/thread_modes.h>
#include <octet/runtime/error.h>
#include <octet/runtime/system.h>

#include "model/model_program.h"

namespace octet {
namespace {

// Changes with all that inference depends on, unless `known` is false.
struct Version {
  std::vector<uint64_t> numbers;
  bool known = true;
};

Version version_of(const Model& model) {
  const ThreadModes& modes = thread_modes();
  Version version{.numbers = {static_cast<uint64_t>(active_isa()),
                              modes.eager ? 1U : 0U,
                              modes.float_codes ? 1U : 0U}};
  for (const auto& layer : model.layers()) {
    const std::optional<uint64_t> state = layer->state_version();
    if (!state) version.known = false;
    version.numbers.push_back(state.value_or(0));
  }
  for (const Parameter& p : model.parameters()) {
    if (p.variable.value().being_written()) version.known = false;
    version.numbers.push_back(p.variable.id());
    version.numbers.push_back(p.variable.version());
  }
  return version;
}

}  // namespace

std::shared_ptr<const Program> ProgramCache::program_of(
    const Model& model, std::span<const Tensor> samples) {
  const std::lock_guard lock(mutex_);
  Version version = version_of(model);
  if (version.known && version.numbers == version_) return program_;
  // Of an unknown version too: layer by layer, outputs are always right.
  if (version.numbers == refused_) return nullptr;
  version_ = std::nullopt;
  program_ = nullptr;
  try {
    auto program =
        std::make_shared<const Program>(make_program(model, CalledLayers::own));
    std::vector<Tensor> few;
    for (const Tensor& x : samples) few.push_back(x.slice(0, 2));
    const std::optional<bool> matches = matches_bitwise(*program, model, few);
    if (!matches) return nullptr;  // these samples tell nothing
    if (*matches) {
      program_ = std::move(program);
    } else {
      refuse(model, "the outputs of the program differ from the model's");
    }
  } catch (const Error& error) {
    if (checks_nan() && error.code() == "not_finite") throw;
    refuse(model, error.message());
  }
  if (program_ == nullptr) {
    refused_ = std::move(version.numbers);
  } else if (version.known) {
    version_ = std::move(version.numbers);
  }
  return program_;
}

void ProgramCache::refuse(const Model& model, std::string_view reason) {
  if (warned_) return;
  warned_ = true;
  warn("not_compiled", fmt::format("model '{}'", model.name()),
       fmt::format("predict() runs it layer by layer, without fused kernels: "
                   "{}",
                   reason));
}

void ProgramCache::clear() {
  const std::lock_guard lock(mutex_);
  version_ = std::nullopt;
  program_ = nullptr;
}

}  // namespace octet
