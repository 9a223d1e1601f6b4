#include <octet/layers/merging.h>
#include <octet/runtime/ops.h>

#include "merging/merge.h"

namespace octet {
namespace {

constexpr Merge kMultiply{
    .class_name = "Multiply",
    .combine = multiply,
    .onnx_op = "Mul",
};

}  // namespace

Multiply::Multiply(const MultiplyOptions& options)
    : LayerHandle(make_merge(kMultiply, options.name)) {}

extern const LayerDef multiply_def;
const LayerDef multiply_def{
    .class_name = "Multiply",
    .create = [](const Config&) { return make_merge(kMultiply, ""); },
    .role = LayerRole::merge,
    .qdq = {.on_request = true, .several_inputs = true},
    .keras = {.layout = KerasLayout::pointwise},
};

}  // namespace octet
