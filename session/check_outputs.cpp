#include "check_outputs.h"

#include <cstring>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/embedding.h>
#include <octet/runtime/error.h>
#include <octet/runtime/rng.h>

namespace octet::session {
namespace {

constexpr int64_t kCheckedSamples = 2;

}  // namespace

void expect_equal_outputs(const Model& model, const Model& loaded) {
  const NoGradGuard no_grad;
  const std::vector<Tensor> samples =
      random_inputs(model, kCheckedSamples, -1, 1, Rng(1));
  const std::vector<Variable> inputs(samples.begin(), samples.end());
  const std::vector<Variable> expected = model(inputs);
  const std::vector<Variable> got = loaded(inputs);
  for (size_t i = 0; i < expected.size(); ++i) {
    const Tensor& a = expected[i].value();
    const Tensor& b = got[i].value();
    if (a.bytes() == b.bytes() &&
        std::memcmp(a.raw(), b.raw(), static_cast<size_t>(a.bytes())) == 0) {
      continue;
    }
    throw UnsupportedError(
        "unsupported_model", fmt::format("model '{}'", model.name()),
        fmt::format("output {} of the session file differs from the model's. "
                    "Hint: the configuration of a custom layer must contain "
                    "all that its forward pass depends on",
                    i));
  }
}

void expect_calibrated(const Model& model) {
  for (const auto& layer : model.layers()) {
    if (!layer->observing()) continue;
    throw ValueError("invalid_state", fmt::format("layer '{}'", layer->name()),
                     "is being calibrated, so the model is not ready for "
                     "inference");
  }
}

}  // namespace octet::session
