// Check of a session file before it is written. Internal to session.
#pragma once

#include <octet/layers/model.h>

namespace octet::session {

/// Runs both models on random samples.
/// Throws: UnsupportedError unless all outputs have equal bits; as the forward
/// pass, for example for a quantizer without a scale.
void expect_equal_outputs(const Model& model, const Model& loaded);

/// Throws: ValueError, naming a layer, while the model is being calibrated.
void expect_calibrated(const Model& model);

}  // namespace octet::session
