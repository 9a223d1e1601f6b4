// Who decides where neither the user's spec nor a case does.
#pragma once

#include <octet/quant/quantize_model.h>

#include "plan/decisions.h"

namespace octet::quant {

/// What a policy wants of the layers that `fixed` does not speak of. It takes
/// account of what is fixed.
Decisions toolkit_policy(const GraphIndex& graph, const Decisions& fixed,
                         const ToolkitPolicy& options);
Decisions tensorrt_policy(const GraphIndex& graph, const Decisions& fixed,
                          const TensorrtPolicy& options);

}  // namespace octet::quant
