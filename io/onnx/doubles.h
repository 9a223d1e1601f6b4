// float64 at the border of a graph that computes in other types. Internal to
// io/onnx.
#pragma once

#include <onnx/onnx_pb.h>

namespace octet::io {

/// Changes the type of float64 values to float32 where results stay the same:
/// inputs that nodes only cast to shorter floats, and casts of values that
/// float32 represents exactly, if nodes only cast the results again.
void narrow_doubles(onnx::GraphProto& graph);

}  // namespace octet::io
