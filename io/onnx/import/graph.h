// ImportGraph: a checked file on its way to a model. Constants become tensors,
// and passes put one node in the place of several. Internal to io/onnx/import.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <onnx/onnx_pb.h>

#include <octet/io/file_limits.h>
#include <octet/io/onnx.h>
#include <octet/io/onnx_import.h>
#include <octet/runtime/tensor.h>

#include "../run/budget.h"

namespace octet::io::importing {

/// The codes of a constant that the file stores as such, or rounds to them.
struct WeightGrid {
  std::vector<float> scales;  ///< one, or one a slice of `axis`
  int64_t axis = 0;           ///< in ONNX' order
  bool per_channel = false;
  bool lowest = false;  ///< has the code -128, which quantizers leave out
  bool operator==(const WeightGrid&) const = default;
};

struct Constant {
  Tensor value;
  std::optional<WeightGrid> grid = {};
  /// The initializers that it comes from: those of one name are one weight.
  std::string source = {};
  /// Of one with an entry for each sample, that of the first being here: their
  /// axis, and how much more the integers of the next one are.
  std::optional<int> samples_axis = {};
  int64_t samples_step = 0;
  /// Why a layer's weight cannot keep its codes; empty if it may.
  std::string no_grid = {};
};

struct ActivationGrid;

struct ImportNode {
  onnx::NodeProto proto;
  std::string name;            ///< or the first output's, where it has none
  std::vector<size_t> origin;  ///< nodes of the report
  bool gone = false;           ///< another node does its work
  /// Of a DequantizeLinear that stands for a pair: what its quantizer is like,
  /// or null for a pair that is dropped.
  std::shared_ptr<const ActivationGrid> grid = {};
};

class ImportGraph {
 public:
  /// REQUIRES: check_onnx() has passed, check_limits() too.
  ImportGraph(onnx::ModelProto model, const FileLimits& limits);

  int64_t opset() const { return opset_; }
  const std::string& name() const { return name_; }
  const std::vector<OnnxTensorInfo>& inputs() const { return inputs_; }
  const std::vector<OnnxTensorInfo>& outputs() const { return outputs_; }
  /// In an order in which they can run; those that are gone, too.
  std::vector<ImportNode>& nodes() { return nodes_; }

  /// Null where a value is no constant of a type that Octet has.
  const Constant* constant(const std::string& value) const;
  void set_constant(const std::string& value, Constant constant);
  /// Constants of other types, by name: "float64".
  const std::string* other_type(const std::string& value) const;

  /// The node that makes a value, if it is not gone; else null.
  ImportNode* maker(const std::string& value);
  /// How many inputs of nodes and outputs of the graph read it.
  int64_t uses(const std::string& value) const;
  /// The nodes that read it, in order.
  std::vector<const ImportNode*> readers(const std::string& value) const;
  bool is_output(const std::string& value) const;
  /// What the file or inference says, unknown sizes as -1; nothing if unknown.
  std::optional<std::vector<int64_t>> stated(const std::string& value) const;

  /// A node that does the work of `anchor` and of those `parts` before it, and
  /// makes what `anchor` did, under the name of `by`. The parts are gone.
  void replace(ImportNode& anchor, const onnx::NodeProto& by,
               const std::vector<ImportNode*>& parts);
  /// The node's work is done: nothing it makes is needed, or all of it is there
  /// already. `note` says why.
  void remove(ImportNode& node, const char* note);
  /// The nodes up to this one are layers: large constants that none after it
  /// reads are gone.
  void drop_constants(const ImportNode& node);

  run::Budget& budget() { return budget_; }
  OnnxImportReport& report() { return report_; }

 private:
  void count(const ImportNode& node, int64_t by);
  std::string common_name(const ImportNode& node) const;

  int64_t opset_;
  std::string name_;
  std::vector<OnnxTensorInfo> inputs_;
  std::vector<OnnxTensorInfo> outputs_;
  std::vector<ImportNode> nodes_;
  std::unordered_map<std::string, Constant> constants_;
  std::unordered_map<std::string, std::string> other_types_;
  std::unordered_map<std::string, size_t> makers_;
  std::unordered_map<std::string, std::map<size_t, int64_t>> readers_;
  std::unordered_map<std::string, int64_t> output_uses_;
  std::unordered_map<std::string, std::vector<int64_t>> stated_;
  run::Budget budget_;
  OnnxImportReport report_;
};

/// Attributes of a node; absent ones are `otherwise`.
int64_t integer_of(const onnx::NodeProto& node, const char* name,
                   int64_t otherwise);
float number_of(const onnx::NodeProto& node, const char* name, float otherwise);
std::string text_of(const onnx::NodeProto& node, const char* name,
                    const std::string& otherwise);
std::vector<int64_t> integers_of(const onnx::NodeProto& node, const char* name);

/// A standard operator of that name.
bool is_op(const ImportNode& node, const char* op);

/// Computes what only depends on constants, but for Q/DQ pairs.
/// Throws: FormatError for what does not fit together or meets a limit.
void fold_constants(ImportGraph& graph);
/// The same for one node whose inputs are constants, sizes with kBatch among
/// them. False if the operator is not one that can.
bool fold(ImportGraph& graph, ImportNode& node);

}  // namespace octet::io::importing
