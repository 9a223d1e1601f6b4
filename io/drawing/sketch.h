// A graph of layers or nodes before they are grouped in boxes. Internal to io.
#pragma once

#include <string>
#include <vector>

#include <octet/io/report.h>

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
  std::vector<SketchNode> nodes;  ///< in topological order
  std::vector<SketchKernel> kernels = {};
};

/// Returns one box per node or, with `fuse`, per kernel, if inner values have
/// no other consumers. A box has the lowest precision of its nodes' kernels.
Drawing drawing_of(const Sketch& sketch, bool fuse);

}  // namespace octet::io
