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
/// The points get their quantizers by quantizers_for_tflite().
Decisions tflite_policy(const GraphIndex& graph, const Decisions& fixed);

/// Sets the configurations and groups of a plan's activations for
/// Policy::tflite: asymmetric, constant scales of functions, and a quantizer
/// for each class of EqualScales; and the scales of Dense weights.
QdqPlan quantizers_for_tflite(QdqPlan plan, const GraphIndex& graph,
                              const TflitePolicy& options);

}  // namespace octet::quant
