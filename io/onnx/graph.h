// A checked ONNX graph that passes rewrite before import. Owns nodes and
// constants; references to nodes stay valid. Subgraphs stay attributes of their
// node, which counts as a consumer of the outer values that they use.
#pragma once

#include <cstdint>
#include <list>
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

#include "run/budget.h"

namespace octet::io {

/// Quantization parameters of a constant stored or rounded to int8.
struct WeightQuantParams {
  std::vector<float> scales;  ///< a scalar, or a scale for each slice of axis
  int64_t axis = 0;           ///< in ONNX' order
  bool per_channel = false;
  bool lowest = false;  ///< contains -128, which quantizers exclude
  bool operator==(const WeightQuantParams&) const = default;
};

/// A constant. float16, bfloat16 and float64 are float32.
struct OnnxConstant {
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

namespace importing {
struct ActivationQuantParams;
}

struct OnnxNode {
  onnx::NodeProto proto;
  std::string name;            ///< otherwise the name of the first output
  std::vector<size_t> origin;  ///< indices of nodes in the report
  bool gone = false;           ///< removed or replaced
  /// For the DequantizeLinear of a pair: quantization parameters, or null if
  /// the pair is removed.
  std::shared_ptr<const importing::ActivationQuantParams> qparams = {};
  /// The nodes that this node replaces, in graph order, if its converter may
  /// convert them one by one instead.
  std::vector<OnnxNode> parts = {};

  /// Ascends in graph order.
  int64_t position() const { return position_; }

 private:
  friend class OnnxGraph;
  int64_t position_ = 0;
};

class OnnxGraph {
 public:
  /// REQUIRES: check_onnx() and check_limits() have passed.
  OnnxGraph(onnx::ModelProto model, const FileLimits& limits);

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
  /// In topological order, including nodes that are gone. Nodes inserted behind
  /// the current one are visited by a loop.
  std::list<OnnxNode>& nodes() { return nodes_; }

  /// Returns null unless the value is a constant of a type that Octet has.
  const OnnxConstant* constant(const std::string& value) const;
  void set_constant(const std::string& value, OnnxConstant constant);
  /// Adds an initializer; other_type() returns the type if Octet has no such.
  void add_initializer(const std::string& value,
                       const onnx::TensorProto& tensor);
  /// Returns the type of a constant of another type: "int16".
  const std::string* other_type(const std::string& value) const;

  /// Returns the producer of a value, or null if it is gone.
  OnnxNode* producer(const std::string& value);
  /// Returns the number of node inputs and graph outputs that consume it.
  int64_t uses(const std::string& value) const;
  /// Returns the consumers in order.
  std::vector<const OnnxNode*> consumers(const std::string& value) const;
  bool is_output(const std::string& value) const;
  /// Whether only these nodes consume a value, and it is no graph output.
  bool is_consumed_only_by(const std::string& value,
                           const std::vector<OnnxNode*>& nodes) const;
  /// Returns the stated or inferred shape, unknown sizes as -1; nothing if
  /// unknown.
  std::optional<std::vector<int64_t>> stated(const std::string& value) const;

  /// Adds a leading axis of size 1 to the shape of a value: the file has a
  /// single sample without a batch axis.
  void add_batch_axis(const std::string& value);
  bool has_added_batch(const std::string& value) const {
    return added_batch_.contains(value);
  }

  /// Returns an onnx::TensorProto::DataType; 0 if unknown.
  int32_t element_type(const std::string& value) const;

  /// Returns `base`, or `base` with underscores if another value has that name.
  std::string unique_name(std::string base);
  /// Inserts a node, with producers that precede it; its outputs are new or
  /// those of a node that is removed next. `origin` are its rows in the report.
  /// Throws: FormatError if the graph becomes too large.
  OnnxNode& insert_before(OnnxNode& node, onnx::NodeProto proto,
                          std::vector<size_t> origin = {});
  OnnxNode& insert_after(OnnxNode& node, onnx::NodeProto proto,
                         std::vector<size_t> origin = {});
  /// Replaces `anchor` and `parts` by the node `by`, which keeps the outputs of
  /// `anchor`. The parts are gone.
  void replace(OnnxNode& anchor, const onnx::NodeProto& by,
               const std::vector<OnnxNode*>& parts);
  /// Makes all consumers of `value` but the graph's outputs consume `by`.
  /// Returns false, without a change, if a subgraph consumes it.
  bool redirect(const std::string& value, const std::string& by);
  /// Removes a node whose outputs are not needed or already constants. `note`
  /// is its note in the report.
  void remove(OnnxNode& node, const char* note);
  /// Frees large constants without consumers after `node`; all nodes up to it
  /// have been converted.
  void drop_constants(const OnnxNode& node);

  run::Budget& budget() { return budget_; }
  OnnxImportReport& report() { return report_; }

 private:
  struct InGraphOrder {
    bool operator()(const OnnxNode* a, const OnnxNode* b) const {
      return a->position_ < b->position_;
    }
  };
  using Consumers = std::map<OnnxNode*, int64_t, InGraphOrder>;

  OnnxNode& insert(std::list<OnnxNode>::iterator before, onnx::NodeProto proto,
                   std::vector<size_t> origin);
  void check_inserted(const onnx::NodeProto& proto);
  void number_nodes();
  void count(OnnxNode& node, int64_t by);
  std::string common_name(const OnnxNode& node) const;

  int64_t opset_;
  std::string name_;
  std::vector<OnnxTensorInfo> inputs_;
  std::vector<size_t> input_places_;
  size_t file_inputs_ = 0;
  std::vector<OnnxTensorInfo> outputs_;
  std::list<OnnxNode> nodes_;
  std::unordered_map<const OnnxNode*, std::list<OnnxNode>::iterator> places_;
  std::unordered_map<std::string, OnnxConstant> constants_;
  std::unordered_map<std::string, std::string> other_types_;
  std::unordered_map<std::string, OnnxNode*> producers_;
  std::unordered_map<std::string, Consumers> consumers_;
  std::unordered_map<std::string, int64_t> output_uses_;
  std::unordered_map<std::string, std::vector<int64_t>> stated_;
  std::unordered_map<std::string, int32_t> element_types_;
  std::unordered_set<std::string> added_batch_;
  std::unordered_set<std::string> names_;  // of values
  int64_t inserted_bytes_ = 0;
  run::Budget budget_;
  OnnxImportReport report_;
};

bool has_subgraphs(const onnx::NodeProto& node);
/// Appends the names of the values that the subgraphs of a node use, which
/// include their own values.
void append_captured(const onnx::NodeProto& node,
                     std::vector<std::string>& names);

/// Return attributes of a node, `otherwise` if absent.
int64_t integer_of(const onnx::NodeProto& node, const char* name,
                   int64_t otherwise);
float number_of(const onnx::NodeProto& node, const char* name, float otherwise);
std::string text_of(const onnx::NodeProto& node, const char* name,
                    const std::string& otherwise);
std::vector<int64_t> integers_of(const onnx::NodeProto& node, const char* name);

/// Whether the node is a standard operator of that name.
bool is_op(const OnnxNode& node, const char* op);

}  // namespace octet::io
