// Placement rules of number formats other than INT8.
#pragma once

#include "plan/decisions.h"

namespace octet::quant {

/// Rule P33: keeps the sites of kernels that weight-only formats support.
void keep_kernel_sites(Decisions& decisions, const GraphIndex& graph);

/// Sets the scale of FP8 inputs behind Softmax, whose outputs are in [0,1], to
/// 1/448. Source: ModelOpt 0.47, FP8 attention.
void fix_scales_behind_softmax(QdqPlan& plan, const GraphIndex& graph);

}  // namespace octet::quant
