// Output of `octet inspect --fused`.
#pragma once

#include <string>

#include <octet/layers/inference_session.h>
#include <octet/runtime/config.h>

namespace octet::program {

Config to_config(const ProgramStep& step);

/// Returns the steps of a session with fused layers, stored tensors and
/// reasons, as a table or JSON.
std::string steps_text(const InferenceSession& session);
std::string steps_json(const InferenceSession& session);

}  // namespace octet::program
