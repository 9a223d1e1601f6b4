#include <octet/layers/merging.h>
#include <octet/runtime/ops.h>

#include "merging/merge.h"

namespace octet {
namespace {

constexpr Merge kAdd{
    .class_name = "Add",
    .combine = add,
    .onnx_op = "Add",
};

}  // namespace

Add::Add(const AddOptions& options)
    : LayerHandle(make_merge(kAdd, options.name)) {}

extern const LayerDef add_def;
const LayerDef add_def{
    .class_name = "Add",
    .create = [](const Config&) { return make_merge(kAdd, ""); },
    .role = LayerRole::merge,
    .qdq = {.on_request = true, .several_inputs = true},
    .keras = {.layout = KerasLayout::pointwise},
};

}  // namespace octet
