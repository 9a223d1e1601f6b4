// Umbrella header of the quant module.
#pragma once

// First, for the shortest include path in compile errors.
// clang-format off
#include <octet/quant/quantize_model.h>
// clang-format on
#include <octet/quant/autotune.h>
#include <octet/quant/calibrate.h>
#include <octet/quant/optimize.h>
#include <octet/quant/patterns.h>
#include <octet/quant/plan.h>
#include <octet/quant/post_training.h>
#include <octet/quant/quantizer.h>
#include <octet/quant/sensitivity.h>
#include <octet/quant/spec.h>
#include <octet/quant/wrapper.h>
