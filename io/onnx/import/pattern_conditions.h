// Conditions of patterns on shapes, axes and constants. Each returns whether a
// match is valid, and may add attributes to the operator that replaces it.
// Internal to io/onnx/import.
#pragma once

#include "pattern.h"

namespace octet::io::importing {

/// Reductions are over a single axis, the last axis, or all axes after the
/// channels.
bool is_over_one_axis(OnnxGraph& graph, const PatternMatch& m,
                      onnx::NodeProto& by);
bool is_over_the_last_axis(OnnxGraph& graph, const PatternMatch& m,
                           onnx::NodeProto& by);
bool is_over_images(OnnxGraph& graph, const PatternMatch& m,
                    onnx::NodeProto& by);
/// "factor" or "offset" varies along the axis of the LayerNormalization.
bool is_along_normalized_axis(OnnxGraph& graph, const PatternMatch& m,
                              onnx::NodeProto& by);
/// "x" is split by "split", normalized and restored by "shape".
bool is_over_groups(OnnxGraph& graph, const PatternMatch& m,
                    onnx::NodeProto& by);
/// "factor" or "offset" has an entry for each channel of "x".
bool is_per_channel(OnnxGraph& graph, const PatternMatch& m,
                    onnx::NodeProto& by);
/// "bias" has an entry for each output of "weight".
bool is_bias(OnnxGraph& graph, const PatternMatch& m, onnx::NodeProto& by);
/// "alpha" is in (0,1).
bool is_slope(OnnxGraph& graph, const PatternMatch& m, onnx::NodeProto& by);
/// Set the slope of HardSigmoid and the approximation of Gelu; always true.
bool sets_alpha(OnnxGraph& graph, const PatternMatch& m, onnx::NodeProto& by);
bool sets_tanh(OnnxGraph& graph, const PatternMatch& m, onnx::NodeProto& by);
/// "factor" and "divisor" are numbers or not yet known; "mask" is added and
/// causal, or hides keys for which "visible" is false or "hidden" true.
bool is_attention(OnnxGraph& graph, const PatternMatch& m, onnx::NodeProto& by);

}  // namespace octet::io::importing
