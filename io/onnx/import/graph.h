// ImportGraph: a checked file during import. Constants are tensors; passes
// replace several nodes by one. Internal to io/onnx/import.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <onnx/onnx_pb.h>

#include <octet/io/file_limits.h>
#include <octet/io/onnx.h>
#include <octet/io/onnx_import.h>
#include <octet/runtime/tensor.h>

#include "../run/budget.h"

namespace octet::io::importing {

/// Quantization parameters of a constant stored or rounded to int8.
struct WeightQuantParams {
  std::vector<float> scales;  ///< a scalar, or a scale for each slice of axis
  int64_t axis = 0;           ///< in ONNX' order
  bool per_channel = false;
  bool lowest = false;  ///< contains -128, which quantizers exclude
  bool operator==(const WeightQuantParams&) const = default;
};

struct Constant {
  Tensor value;
  std::optional<WeightQuantParams> qparams = {};
  /// Names of the initializers of its values. Equal names identify a shared
  /// weight.
  std::string source = {};
  /// For a constant with an entry for each sample, of which `value` contains
  /// the first: the axis, and the increment of integers from sample to sample.
  std::optional<int> samples_axis = {};
  int64_t samples_step = 0;
  /// Why a layer's weight cannot stay quantized; empty if it can.
  std::string no_qparams = {};
};

struct ActivationQuantParams;

struct ImportNode {
  onnx::NodeProto proto;
  std::string name;            ///< otherwise the name of the first output
  std::vector<size_t> origin;  ///< indices of nodes in the report
  bool gone = false;           ///< removed or replaced
  /// For the DequantizeLinear of a pair: quantization parameters, or null if
  /// the pair is removed.
  std::shared_ptr<const ActivationQuantParams> qparams = {};
};

class ImportGraph {
 public:
  /// REQUIRES: check_onnx() and check_limits() have passed.
  ImportGraph(onnx::ModelProto model, const FileLimits& limits);

  int64_t opset() const { return opset_; }
  const std::string& name() const { return name_; }
  const std::vector<OnnxTensorInfo>& inputs() const { return inputs_; }
  /// Returns the position of each input among those of the file.
  const std::vector<size_t>& input_places() const { return input_places_; }
  /// Returns the number of inputs of the file.
  size_t file_inputs() const { return file_inputs_; }
  /// Removes inputs that neither a node nor an output consumes. Returns their
  /// names.
  std::vector<std::string> drop_unused_inputs();
  const std::vector<OnnxTensorInfo>& outputs() const { return outputs_; }
  /// In topological order, including nodes that are gone.
  std::vector<ImportNode>& nodes() { return nodes_; }

  /// Returns null unless the value is a constant of a type that Octet has.
  const Constant* constant(const std::string& value) const;
  void set_constant(const std::string& value, Constant constant);
  /// Returns the type of a constant of another type: "float64".
  const std::string* other_type(const std::string& value) const;

  /// Returns the producer of a value, or null if it is gone.
  ImportNode* producer(const std::string& value);
  /// Returns the number of node inputs and graph outputs that consume it.
  int64_t uses(const std::string& value) const;
  /// Returns the consumers in order.
  std::vector<const ImportNode*> consumers(const std::string& value) const;
  bool is_output(const std::string& value) const;
  /// Returns the stated or inferred shape, unknown sizes as -1; nothing if
  /// unknown.
  std::optional<std::vector<int64_t>> stated(const std::string& value) const;

  /// Adds a leading axis of size 1 to the shape of a value: the file has a
  /// single sample without a batch axis.
  void add_batch_axis(const std::string& value);
  bool has_added_batch(const std::string& value) const {
    return added_batch_.contains(value);
  }

  /// Replaces `anchor` and `parts` by the node `by`, which keeps the outputs of
  /// `anchor`. The parts are gone.
  void replace(ImportNode& anchor, const onnx::NodeProto& by,
               const std::vector<ImportNode*>& parts);
  /// Removes a node whose outputs are not needed or already constants. `note`
  /// is its note in the report.
  void remove(ImportNode& node, const char* note);
  /// Frees large constants without consumers after `node`; all nodes up to it
  /// have been converted.
  void drop_constants(const ImportNode& node);

  run::Budget& budget() { return budget_; }
  OnnxImportReport& report() { return report_; }

 private:
  void count(const ImportNode& node, int64_t by);
  std::string common_name(const ImportNode& node) const;

  int64_t opset_;
  std::string name_;
  std::vector<OnnxTensorInfo> inputs_;
  std::vector<size_t> input_places_;
  size_t file_inputs_ = 0;
  std::vector<OnnxTensorInfo> outputs_;
  std::vector<ImportNode> nodes_;
  std::unordered_map<std::string, Constant> constants_;
  std::unordered_map<std::string, std::string> other_types_;
  std::unordered_map<std::string, size_t> producers_;
  std::unordered_map<std::string, std::map<size_t, int64_t>> consumers_;
  std::unordered_map<std::string, int64_t> output_uses_;
  std::unordered_map<std::string, std::vector<int64_t>> stated_;
  std::unordered_set<std::string> added_batch_;
  run::Budget budget_;
  OnnxImportReport report_;
};

/// Return attributes of a node, `otherwise` if absent.
int64_t integer_of(const onnx::NodeProto& node, const char* name,
                   int64_t otherwise);
float number_of(const onnx::NodeProto& node, const char* name, float otherwise);
std::string text_of(const onnx::NodeProto& node, const char* name,
                    const std::string& otherwise);
std::vector<int64_t> integers_of(const onnx::NodeProto& node, const char* name);

/// Whether the node is a standard operator of that name.
bool is_op(const ImportNode& node, const char* op);

/// Folds nodes that depend on constants only, except Q/DQ pairs.
/// Throws: FormatError for inconsistent shapes or exceeded limits.
void fold_constants(ImportGraph& graph);
/// Folds a single node whose inputs are constants, possibly sizes with kBatch.
/// Returns false if it cannot be folded.
bool fold(ImportGraph& graph, ImportNode& node);

}  // namespace octet::io::importing
