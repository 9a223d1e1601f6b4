// Rearrangements that a single DepthToSpace or SpaceToDepth computes. Internal
// to io/onnx.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <octet/layers/detail/axis_layout.h>

namespace octet::io::layout {

/// A DepthToSpace or SpaceToDepth node.
struct BlockMove {
  std::string op;
  int64_t block = 0;  ///< attribute blocksize
  std::string mode;   ///< of DepthToSpace, "DCR" or "CRD"
};

/// Returns the node that computes the logical tensor of a layout, if any.
std::optional<BlockMove> block_move(const AxisLayout& layout);

}  // namespace octet::io::layout
