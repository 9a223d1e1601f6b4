#include <octet/layers/merging.h>
#include <octet/runtime/ops.h>

#include "merging/merge.h"

namespace octet {
namespace {

constexpr Merge kMinimum{
    .class_name = "Minimum",
    .combine = minimum,
    .onnx_op = "Min",
};

}  // namespace

Minimum::Minimum(const MinimumOptions& options)
    : LayerHandle(make_merge(kMinimum, options.name)) {}

extern const LayerDef minimum_def;
const LayerDef minimum_def{
    .class_name = "Minimum",
    .create = [](const Config&) { return make_merge(kMinimum, ""); },
    .role = LayerRole::merge,
    .qdq = {.on_request = true, .several_inputs = true},
    .keras = {.layout = KerasLayout::pointwise},
};

}  // namespace octet
