#include <octet/layers/merging.h>
#include <octet/runtime/ops.h>

#include "merging/merge.h"

namespace octet {
namespace {

constexpr Merge kMaximum{
    .class_name = "Maximum",
    .combine = maximum,
    .onnx_op = "Max",
};

}  // namespace

Maximum::Maximum(const MaximumOptions& options)
    : LayerHandle(make_merge(kMaximum, options.name)) {}

extern const LayerDef maximum_def;
const LayerDef maximum_def{
    .class_name = "Maximum",
    .create = [](const Config&) { return make_merge(kMaximum, ""); },
    .role = LayerRole::merge,
    .qdq = {.on_request = true, .several_inputs = true},
    .keras = {.layout = KerasLayout::pointwise},
};

}  // namespace octet
