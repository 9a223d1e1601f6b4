#include <octet/layers/merging.h>
#include <octet/runtime/ops.h>

#include "merging/merge.h"

namespace octet {
namespace {

constexpr Merge kSubtract{
    .class_name = "Subtract",
    .combine = subtract,
    .onnx_op = "Sub",
    .pair = true,
    .negative = true,
};

}  // namespace

Subtract::Subtract(const SubtractOptions& options)
    : LayerHandle(make_merge(kSubtract, options.name)) {}

extern const LayerDef subtract_def;
const LayerDef subtract_def{
    .class_name = "Subtract",
    .create = [](const Config&) { return make_merge(kSubtract, ""); },
    .role = LayerRole::merge,
    .qdq = {.on_request = true, .several_inputs = true},
    .keras = {.layout = KerasLayout::pointwise},
};

}  // namespace octet
