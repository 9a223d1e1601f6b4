// Policies: placement for layers not fixed by the user's spec or a case.
#pragma once

#include <octet/quant/quantize_model.h>

#include "plan/decisions.h"

namespace octet::quant {

/// Return the decisions for all layers not in `fixed`, taking `fixed` into
/// account.
Decisions toolkit_policy(const GraphIndex& graph, const Decisions& fixed,
                         const ToolkitPolicy& options);
Decisions tensorrt_policy(const GraphIndex& graph, const Decisions& fixed,
                          const TensorrtPolicy& options);

}  // namespace octet::quant
