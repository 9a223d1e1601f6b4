// Graph of an ONNX model with an index of its values: producers, consumers,
// constants, types. Passes rewrite it before import and after export; lint,
// inspection and drawing query it. Owns the model; references to nodes stay
// valid. Subgraphs remain attributes of their node, which counts as a consumer
// of the outer values that they use.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <onnx/onnx_pb.h>

#include <octet/io/onnx.h>
#include <octet/runtime/file.h>
#include <octet/runtime/quantization.h>
#include <octet/runtime/tensor.h>

#include "attributes.h"
#include "onnx/reference/budget.h"
#include "unique_names.h"

namespace octet::io {

/// Quantization parameters of a constant stored or rounded to int8.
struct WeightQuantParams {
  std::vector<float> scales;  ///< a scalar, or a scale for each slice of axis
  int64_t axis = 0;           ///< in the axis order of the file
  bool per_channel = false;
  bool lowest = false;  ///< whether -128 occurs, which quantizers exclude
  NumberFormat format = NumberFormat::integer;
  bool operator==(const WeightQuantParams&) const = default;
};

/// A constant. float16, bfloat16 and float64 are converted to float32.
struct OnnxConstant {
  Tensor value;
  std::optional<WeightQuantParams> qparams = {};
  /// Names of the initializers that it was computed from. Equal names identify
  /// a shared weight.
  std::string source = {};
  /// For a constant with an entry for each sample: the axis of samples, of
  /// which `value` contains the first, and the increment of integers per
  /// sample.
  std::optional<int> samples_axis = {};
  int64_t samples_step = 0;
  /// For a list of int64 sizes: those to multiply by the batch size; empty if
  /// there are none.
  std::vector<bool> times_batch = {};
  /// Whether the value is not the same for all batch sizes.
  bool depends_on_batch() const {
    return samples_axis.has_value() || !times_batch.empty();
  }
  /// Reason why a layer's weight cannot stay quantized; empty if it can.
  std::string no_qparams = {};
};

namespace importing {
struct ActivationQuantParams;
}

struct OnnxNode {
  onnx::NodeProto proto;
  std::string name;            ///< of the node, or of its first output
  std::vector<size_t> origin;  ///< indices in OnnxImportReport::nodes
  bool gone = false;           ///< removed or replaced
  /// For the DequantizeLinear of a pair: quantization parameters, or null if
  /// the pair is removed.
  std::shared_ptr<const importing::ActivationQuantParams> qparams = {};
  /// The replaced nodes, in graph order, if the converter may convert them
  /// instead of this node.
  std::vector<OnnxNode> parts = {};

  /// Ascends in graph order.
  int64_t position() const { return position_; }

  operator const onnx::NodeProto&() const { return proto; }
  const std::string& op_type() const { return proto.op_type(); }
  const std::string& domain() const { return proto.domain(); }
  const auto& input() const { return proto.input(); }
  const auto& output() const { return proto.output(); }
  int input_size() const { return proto.input_size(); }
  int output_size() const { return proto.output_size(); }
  /// Return a value's name; empty if absent.
  const std::string& input(int i) const;
  const std::string& output(int i) const;

 private:
  friend class OnnxGraph;
  int64_t position_ = 0;
};

class OnnxGraph {
 public:
  /// REQUIRES: the model has been checked. Types of values are known after
  /// shape inference only.
  explicit OnnxGraph(onnx::ModelProto model, const FileLimits& limits = {});
  OnnxGraph(const OnnxGraph&) = delete;
  OnnxGraph& operator=(const OnnxGraph&) = delete;

  /// Returns the model as changed; later nodes follow their producers.
  onnx::ModelProto to_model() &&;
  onnx::ModelProto copy_model() const;
  /// Converts the initializers to constants of import, which frees them.
  /// Throws: FormatError for too many nodes.
  void begin_import();

  int64_t opset() const { return opset_; }
  const std::string& name() const { return name_; }
  const std::vector<OnnxTensorInfo>& inputs() const { return inputs_; }
  /// Returns the position of each input among those of the file.
  const std::vector<size_t>& input_places() const { return input_places_; }
  size_t file_inputs() const { return file_inputs_; }
  /// Removes inputs that neither a node nor an output consumes. Returns their
  /// names.
  std::vector<std::string> drop_unused_inputs();
  /// Whether import interprets inputs of fixed sizes as one sample without
  /// batch axis.
  bool one_sample() const { return one_sample_; }
  void set_one_sample(bool one_sample) { one_sample_ = one_sample; }
  /// Returns the batch axis of an input: 0, or 1 for sequences with the steps
  /// first.
  int batch_axis(const std::string& input) const {
    const auto found = batch_axes_.find(input);
    return found == batch_axes_.end() ? 0 : found->second;
  }
  void set_batch_axes(std::unordered_map<std::string, int> axes) {
    batch_axes_ = std::move(axes);
  }
  const std::vector<OnnxTensorInfo>& outputs() const { return outputs_; }
  /// In topological order, including removed nodes (`gone`). A loop also visits
  /// nodes that are inserted behind its current node.
  std::list<OnnxNode>& nodes() { return nodes_; }
  const std::list<OnnxNode>& nodes() const { return nodes_; }

  /// Returns the initializer or the value of the Constant node, or null. For
  /// changes, returns initializers only.
  const onnx::TensorProto* tensor(const std::string& value) const;
  onnx::TensorProto* initializer(const std::string& value);
  const std::unordered_map<std::string, onnx::TensorProto*>& initializers()
      const {
    return initializers_;
  }
  /// Adds a tensor under a name similar to `name`, and returns its name.
  const std::string& add_tensor(const std::string& name,
                                onnx::TensorProto tensor);
  std::string add_tensor(const std::string& name,
                         const std::vector<int64_t>& dims,
                         const std::vector<float>& values);
  /// Removes an initializer without consumers, also from the inputs.
  void remove_initializer(const std::string& value);

  /// Returns null unless the value is a constant of a type that Octet has.
  const OnnxConstant* constant(const std::string& value) const;
  void set_constant(const std::string& value, OnnxConstant constant);
  /// Adds a constant. Returns its name, similar to `name`.
  std::string add_constant(const std::string& name, const Tensor& value);
  /// Adds an initializer. If Octet lacks its type, other_type() returns it.
  void add_initializer(const std::string& value,
                       const onnx::TensorProto& tensor);
  /// Returns the type of a constant if Octet lacks it, such as "int16",
  /// otherwise null.
  const std::string* other_type(const std::string& value) const;

  /// Returns the producer of a value, or null if it is gone.
  OnnxNode* producer(const std::string& value);
  const OnnxNode* producer(const std::string& value) const;
  /// Returns the number of node inputs and graph outputs that consume a value.
  int64_t uses(const std::string& value) const;
  /// In graph order.
  std::vector<OnnxNode*> consumers(const std::string& value) const;
  /// Returns the only consumer; null for several and for graph outputs.
  OnnxNode* only_consumer(const std::string& value) const;
  bool is_output(const std::string& value) const;
  /// Whether only these nodes consume a value, and it is not a graph output.
  bool is_consumed_only_by(const std::string& value,
                           const std::vector<OnnxNode*>& nodes) const;
  /// Return the stated or inferred shape, unknown sizes as -1; nothing if
  /// unknown. dims() also returns the shapes of initializers.
  std::optional<std::vector<int64_t>> stated(const std::string& value) const;
  std::optional<std::vector<int64_t>> dims(const std::string& value) const;
  /// Returns the shape with the names of dynamic sizes.
  OnnxShape shape(const std::string& value) const;
  /// Returns "float32"; empty if unknown.
  std::string type(const std::string& value) const;

  /// Returns an onnx::TensorProto::DataType; 0 if unknown.
  int32_t element_type(const std::string& value) const;
  void set_element_type(const std::string& value, int32_t type);

  /// Returns `base`, or `base` with a number if another value has that name.
  std::string unique_name(const std::string& base);
  /// Insert a node. `origin` is OnnxNode::origin.
  /// REQUIRES: its producers precede it; its outputs are new, or the outputs of
  /// a node that is removed next.
  /// Throws: FormatError if the graph becomes too large.
  OnnxNode& insert_before(OnnxNode& node, onnx::NodeProto proto,
                          std::vector<size_t> origin = {});
  OnnxNode& insert_after(OnnxNode& node, onnx::NodeProto proto,
                         std::vector<size_t> origin = {});
  /// Replaces `anchor` by the node `by`, which keeps the outputs of `anchor`,
  /// and removes `parts`.
  void replace(OnnxNode& anchor, const onnx::NodeProto& by,
               const std::vector<OnnxNode*>& parts);
  /// Replaces `value` by `by` in all consumers except graph outputs. Returns
  /// false, without a change, if a subgraph consumes `value`.
  bool redirect(const std::string& value, const std::string& by);
  /// Changes the inputs, outputs or attributes of a node by `edit(proto)`.
  template <class Edit>
  void change(OnnxNode& node, const Edit& edit) {
    unlink(node);
    edit(node.proto);
    link(node);
  }
  /// Absent inputs before the input become empty.
  void set_input(OnnxNode& node, int index, const std::string& value);
  /// Removes a node, and frees its large inputs without other consumers. `note`
  /// is reported for it.
  /// REQUIRES: its outputs have no consumers, are constants, or have another
  /// producer.
  void remove(OnnxNode& node, const char* note = "");
  /// Frees large inputs of `node` that no later node consumes.
  /// REQUIRES: all nodes up to `node` have been converted.
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
  void link(OnnxNode& node);
  void unlink(OnnxNode& node);
  void count(OnnxNode& node, int64_t by);
  std::string common_name(const OnnxNode& node) const;

  onnx::ModelProto model_;  // without nodes
  int64_t opset_;
  std::string name_;
  std::vector<OnnxTensorInfo> inputs_;
  std::vector<size_t> input_places_;
  size_t file_inputs_ = 0;
  bool one_sample_ = false;
  std::unordered_map<std::string, int> batch_axes_;
  std::vector<OnnxTensorInfo> outputs_;
  std::list<OnnxNode> nodes_;
  std::unordered_map<const OnnxNode*, std::list<OnnxNode>::iterator> places_;
  std::unordered_map<std::string, OnnxConstant> constants_;
  std::unordered_map<std::string, std::string> other_types_;
  std::unordered_map<std::string, OnnxNode*> producers_;
  std::unordered_map<std::string, Consumers> consumers_;
  std::unordered_map<std::string, int64_t> output_uses_;
  std::unordered_map<std::string, onnx::TensorProto*> initializers_;
  std::unordered_map<std::string, onnx::TypeProto*> types_;
  UniqueNames names_;  // of values
  int64_t inserted_bytes_ = 0;
  run::Budget budget_;
  OnnxImportReport report_;
};

/// Returns the name of a node, or of its first output if it has none.
const std::string& name_of(const onnx::NodeProto& node);

struct GraphPass {
  const char* name;
  void (*run)(OnnxGraph&);
};

/// Runs passes in their order. `stage` names them in the context of errors and
/// in the trace: with the environment variable OCTET_TRACE=passes, each pass
/// prints a line to standard error.
void run_passes(OnnxGraph& graph, std::string_view stage,
                std::span<const GraphPass> passes);

bool has_subgraphs(const onnx::NodeProto& node);
/// Appends the names of the values that the subgraphs of a node use, which
/// include their own values.
void append_captured(const onnx::NodeProto& node,
                     std::vector<std::string>& names);

/// Whether the node is the operator `op`, or one of them, of the standard
/// domain.
bool is_op(const OnnxNode& node, const char* op);
bool is_op(const OnnxNode& node, std::initializer_list<std::string_view> ops);

}  // namespace octet::io
