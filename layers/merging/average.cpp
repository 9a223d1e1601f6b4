#include <octet/layers/merging.h>
#include <octet/runtime/ops.h>

#include "merging/merge.h"

namespace octet {
namespace {

constexpr Merge kAverage{
    .class_name = "Average",
    .combine = add,
    .onnx_op = "Add",
    .mean = true,
};

}  // namespace

Average::Average(const AverageOptions& options)
    : LayerHandle(make_merge(kAverage, options.name)) {}

extern const LayerDef average_def;
const LayerDef average_def{
    .class_name = "Average",
    .create = [](const Config&) { return make_merge(kAverage, ""); },
    .role = LayerRole::merge,
    .qdq = {.on_request = true, .several_inputs = true},
    .keras = {.layout = KerasLayout::pointwise},
};

}  // namespace octet
