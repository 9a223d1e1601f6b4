#include <octet/layers/merging.h>
#include <octet/runtime/ops.h>

#include "merging/merge.h"

namespace octet {
namespace {

constexpr Merge kDivide{
    .class_name = "Divide",
    .combine = divide,
    .onnx_op = "Div",
    .pair = true,
};

}  // namespace

Divide::Divide(const DivideOptions& options)
    : LayerHandle(make_merge(kDivide, options.name)) {}

extern const LayerDef divide_def;
const LayerDef divide_def{
    .class_name = "Divide",
    .create = [](const Config&) { return make_merge(kDivide, ""); },
    .role = LayerRole::merge,
    .keras = {.layout = KerasLayout::pointwise},
};

}  // namespace octet
