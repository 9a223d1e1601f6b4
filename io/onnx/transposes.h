// Transposes of a graph during export. Consecutive transposes merge into one of
// the first one's input, or cancel. Those of layers stay, so that the file
// contains the layer, except next to an input or output. Internal to io/onnx.
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
  struct Source {
    std::string value;
    std::vector<int64_t> perm;  ///< identity: the value itself
    bool is_layer = false;
    bool is_port = false;  ///< next to an input or output
    bool is_identity() const;
  };
  enum class Merge { all, all_but_layers, ports };

  /// Returns `value` transposed by `perm` as a transposition of the value
  /// before the preceding Transposes.
  Source source_of(const std::string& value, const std::vector<int64_t>& perm,
                   Merge merge) const;
  /// Records the output of a Transpose node.
  void add(const std::string& output, Source source) {
    sources_[output] = std::move(source);
  }

 private:
  std::unordered_map<std::string, Source> sources_;
};

/// Removes Transpose nodes whose outputs nothing consumes.
void drop_unused_transposes(onnx::GraphProto& graph);

}  // namespace octet::io
