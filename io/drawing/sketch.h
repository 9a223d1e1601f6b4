// A graph of layers or nodes before kernels become boxes. Internal to io.
#pragma once

#include <string>
#include <vector>

#include <octet/io/drawing.h>

namespace octet::io {

struct SketchNode {
  struct Read {
    size_t from = 0;
    std::string pair = {};
  };
  DrawnLayer layer;
  std::vector<Read> reads = {};
};

struct SketchKernel {
  std::vector<size_t> nodes;  ///< in the order of the sketch, each once
  LayerPrecision precision = LayerPrecision::floating;
  std::string reason = {};
};

struct Sketch {
  std::vector<SketchNode> nodes;  ///< makers before readers
  std::vector<SketchKernel> kernels = {};
};

/// One box for each node or, with `fuse`, for the nodes of a kernel, as far as
/// nobody else reads what lies within it. A box has the least precision of the
/// kernels that its nodes are of.
Drawing drawing_of(const Sketch& sketch, bool fuse);

}  // namespace octet::io
