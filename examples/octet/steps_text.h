// The steps of a session, as `octet inspect --fused` prints them.
#pragma once

#include <string>

#include <octet/layers/inference_session.h>
#include <octet/runtime/config.h>

namespace octet::program {

Config to_config(const ProgramStep& step);

/// What is fused, what is stored and why, as a table or as JSON.
std::string steps_text(const InferenceSession& session);
std::string steps_json(const InferenceSession& session);

}  // namespace octet::program
