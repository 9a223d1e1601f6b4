// A fit's standing as values. Internal to train.
#pragma once

#include <octet/runtime/config.h>

#include "fit_checkpoints.h"

namespace octet::train {

Config to_config(const Standing& standing);

/// Sets what to_config() gave; the rest of `standing` stays.
/// Throws: ValueError, NotFoundError for what it does not give.
void standing_from(const Config& config, Standing& standing);

}  // namespace octet::train
