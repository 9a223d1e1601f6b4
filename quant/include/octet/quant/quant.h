// Umbrella header of the quant module.
#pragma once

// First, for the shortest include path in compile errors.
// clang-format off
#include <octet/quant/quantize_model.h>
// clang-format on
#include <octet/quant/auto_calibrate.h>
#include <octet/quant/auto_mixed_precision.h>
#include <octet/quant/calibrate.h>
#include <octet/quant/check_quantizers.h>
#include <octet/quant/compare_outputs.h>
#include <octet/quant/conversion.h>
#include <octet/quant/counterpart.h>
#include <octet/quant/fold_batch_norm.h>
#include <octet/quant/insert_qdq.h>
#include <octet/quant/insertion_case.h>
#include <octet/quant/layer_bits.h>
#include <octet/quant/model_state.h>
#include <octet/quant/observer.h>
#include <octet/quant/pattern.h>
#include <octet/quant/plan.h>
#include <octet/quant/post_training.h>
#include <octet/quant/ptq_pipeline.h>
#include <octet/quant/qat.h>
#include <octet/quant/qdq_site.h>
#include <octet/quant/quantizer.h>
#include <octet/quant/sensitivity.h>
#include <octet/quant/spec.h>
#include <octet/quant/transform.h>
#include <octet/quant/unusual_samples.h>
#include <octet/quant/weight_zeros.h>
#include <octet/quant/wrapper.h>
#include <octet/quant/wrapper_registry.h>
