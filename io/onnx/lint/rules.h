// The groups of rules. Each checks a whole graph and reports violations.
// Internal to io/onnx/lint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <octet/io/lint.h>

#include "graph.h"
#include "printable.h"

namespace octet::io::lint {

bool is_tensorrt(Target target);
/// Throws: ValueError for Target::any.
void expect_runtime(Target target);

template <class T>
const T& shown(const T& value) {
  return value;
}
inline std::string shown(const std::string& text) { return printable(text); }
inline std::string shown(const Node& node) { return printable(name_of(node)); }

template <class... Args>
using Reason =
    fmt::format_string<decltype(shown(std::declval<const Args&>()))...>;

/// Collects findings with the severity of their rule for the target; drops
/// findings that do not apply to it.
class Findings {
 public:
  explicit Findings(Target target) : target_(target) {}

  Target target() const { return target_; }
  bool tensorrt() const { return is_tensorrt(target_); }

  /// Reports a violation by a node, or by the whole file. `reason` is a format
  /// string for `args`: numbers, texts of the file, and nodes, printed by name.
  template <class... Args>
  void add(std::string_view id, const onnx::NodeProto& node, std::string hint,
           Reason<Args...> reason, const Args&... args) {
    add_named(id, name_of(node), std::move(hint),
              fmt::format(reason, shown(args)...));
  }
  template <class... Args>
  void add(std::string_view id, std::string hint, Reason<Args...> reason,
           const Args&... args) {
    add_named(id, "", std::move(hint), fmt::format(reason, shown(args)...));
  }
  void add_named(std::string_view id, std::string node, std::string hint,
                 std::string reason);
  bool empty() const { return findings_.empty(); }
  /// Returns findings by severity, then id, then order of addition.
  std::vector<LintFinding> sorted() const;

 private:
  Target target_;
  std::vector<LintFinding> findings_;
};

/// Loads a file's model with its external data, unchecked. Throws: IoError;
/// FormatError.
onnx::ModelProto read_as_stored(const std::filesystem::path& path,
                                int64_t limit);

/// Rules checked before onnx::checker, which rejects violations: E01, E13, E15.
void check_as_stored(const onnx::ModelProto& model, Findings& findings);

/// E02 to E09, E11 to E14, P31: Q and DQ nodes.
void check_quantizers(const LintGraph& graph, Findings& findings);
/// E10, E16 to E21: inputs of Q/DQ and of quantized layers.
void check_operands(const LintGraph& graph, Findings& findings);
/// P01 to P03, P09, P21, P23 to P26, P28: weighted layers, their fusions, and
/// shapes that are slow in INT8.
void check_layers(const LintGraph& graph, Findings& findings);
/// P04 to P08, P14, P15, P22: operators with several branches.
void check_merges(const LintGraph& graph, Findings& findings);
/// P10 to P13, P16 to P20, P27: pairs among themselves and around operators
/// that move or pool values.
void check_pairs(const LintGraph& graph, Findings& findings);
/// A01, A02, A04 to A06, A08: accuracy rules that need no data.
void check_accuracy(const LintGraph& graph, Findings& findings);
/// D01 to D07: building and running an engine.
void check_deployment(const LintGraph& graph, Findings& findings);
/// E22, P29, P30, D08: rules for OpenVINO.
void check_openvino(const LintGraph& graph, Findings& findings);
/// Whether OpenVINO runs a convolution in floating point although its data and
/// weights are quantized.
bool is_computed_in_floats(const LintGraph& graph, const Node& node);

/// A03, A07: rules that run samples in the file's layout.
/// REQUIRES: the model has passed check_onnx(). Throws: as compare_models().
void check_samples(const LintGraph& graph, const Tensor& samples,
                   const FileLimits& limits, Findings& findings);

/// A layer's forecast and the nodes of its kernel. Each layer of a kernel, such
/// as a convolution and a following Add, has its own.
struct Kernel : LayerForecast {
  const Node* layer = nullptr;
  std::vector<const Node*> nodes;
};

/// Returns why the target has no INT8 kernel for a node with INT8 inputs; null
/// if it has.
const char* why_no_kernel(const LintGraph& graph, const Node& node,
                          Target target);

/// In the graph's order.
std::vector<Kernel> kernels(const LintGraph& graph, Target target);
std::vector<LayerForecast> forecast(const LintGraph& graph, Target target);

}  // namespace octet::io::lint
