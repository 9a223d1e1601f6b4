#include "program_cache.h"

#include <fmt/format.h>

#include <octet/runtime/detail/thread_modes.h>
#include <octet/runtime/diagnostics.h>
#include <octet/runtime/error.h>
#include <octet/runtime/system.h>

#include "model_program.h"

namespace octet {
namespace {

// Changes with all that inference depends on; nullopt if that is unknown.
std::optional<std::vector<uint64_t>> version_of(const Model& model) {
  const ThreadModes& modes = thread_modes();
  std::vector<uint64_t> version{static_cast<uint64_t>(active_isa()),
                                modes.eager ? 1U : 0U,
                                modes.float_codes ? 1U : 0U};
  for (const auto& layer : model.layers()) {
    const std::optional<uint64_t> state = layer->state_version();
    if (!state) return std::nullopt;
    version.push_back(*state);
  }
  for (const Parameter& p : model.parameters()) {
    if (p.variable.value().being_written()) return std::nullopt;
    version.push_back(p.variable.id());
    version.push_back(p.variable.version());
  }
  return version;
}

}  // namespace

std::shared_ptr<const Program> ProgramCache::program_of(
    const Model& model, std::span<const Tensor> samples) {
  const std::lock_guard lock(mutex_);
  std::optional<std::vector<uint64_t>> version = version_of(model);
  if (version && version == version_) return program_;
  version_ = std::nullopt;
  program_ = nullptr;
  const auto refuse = [&](std::string_view reason) {
    if (warned_) return;
    warned_ = true;
    warn("not_compiled", fmt::format("model '{}'", model.name()),
         fmt::format("predict() runs it layer by layer, without fused kernels: "
                     "{}",
                     reason));
  };
  try {
    auto program =
        std::make_shared<const Program>(make_program(model, CalledLayers::own));
    std::vector<Tensor> few;
    for (const Tensor& x : samples) few.push_back(x.slice(0, 2));
    if (matches_bitwise(*program, model, few)) {
      program_ = std::move(program);
    } else {
      return nullptr;
    }
  } catch (const Error& error) {
    if (checks_nan() && error.code() == "not_finite") throw;
    refuse(error.message());
  }
  version_ = std::move(version);
  return program_;
}

void ProgramCache::clear() {
  const std::lock_guard lock(mutex_);
  version_ = std::nullopt;
  program_ = nullptr;
}

}  // namespace octet
