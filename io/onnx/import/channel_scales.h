// Activations with a scale per channel before depthwise convolutions, as NNCF
// writes them. Internal to io/onnx/import.
#pragma once

#include "onnx/graph/graph.h"

namespace octet::io::importing {

/// Divides such an activation by its scales, gives its pair the scale 1 and
/// multiplies the convolutions' weights, or their scales, by the scales. The
/// quantized values are the same. Leaves pairs unchanged whose channels have
/// different zero points or other consumers.
void share_channel_scales(OnnxGraph& graph);

}  // namespace octet::io::importing
