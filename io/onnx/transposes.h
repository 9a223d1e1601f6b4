// Merges Transpose nodes during export: consecutive ones become a single
// Transpose, or none if they cancel. The Transpose of a layer keeps its node,
// so that the file contains the layer, except next to an input or output.
// Internal to io/onnx.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <onnx/onnx_pb.h>

namespace octet::io {

class Transposes {
 public:
  /// A value and its permutation.
  struct Source {
    std::string value;
    std::vector<int64_t> perm;
    bool is_layer = false;  ///< the Transpose of a layer
    bool is_port = false;   ///< next to an input or output
    bool is_identity() const;
  };
  /// Preceding Transposes to merge with.
  enum class Merge { all, all_but_layers, ports };

  /// Merges a Transpose of `value` with the preceding ones. Returns the input
  /// of the first of them, and the combined permutation.
  Source source_of(const std::string& value, const std::vector<int64_t>& perm,
                   Merge merge) const;
  /// Records the output of a Transpose node.
  void add(const std::string& output, Source source) {
    sources_[output] = std::move(source);
  }

 private:
  std::unordered_map<std::string, Source> sources_;
};

/// Removes Transpose nodes without consumers.
void drop_unused_transposes(onnx::GraphProto& graph);

}  // namespace octet::io
