// Importer: converts the nodes of an OnnxGraph to layers in order and
// collects nodes without an equivalent layer. Conversion: a node as seen by the
// converter of its operator. Internal to io/onnx/import.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <octet/io/onnx.h>
#include <octet/layers/model.h>
#include <octet/quant/plan.h>

#include "layout.h"
#include "onnx/normalize/fold.h"
#include "quantizers.h"
#include "refused_nodes.h"
#include "unique_names.h"

namespace octet::io::importing {

/// An input of a layer.
struct Operand {
  SymbolicTensor tensor;
  std::shared_ptr<const ActivationQuantParams> qparams = {};
};

/// Scales of a slice of a weight's outputs: from each group of `size` times
/// `inner` scales, `count` times `inner` from `first` on.
struct PartOfScales {
  int64_t size = 1;
  int64_t inner = 1;
  int64_t first = 0;
  int64_t count = 1;
};

/// A parameter of a layer, in the order of its parameters().
struct ImportedWeight {
  std::string name;  ///< "kernel"
  Tensor value;
  /// Has a scale for each channel of the parameter, or a single scale.
  std::optional<WeightQuantParams> qparams = {};
  std::string source = {};
};

class Importer {
 public:
  Importer(OnnxGraph& graph, const OnnxImportOptions& options);

  /// Throws: as import_onnx().
  OnnxImport run();

 private:
  friend class Conversion;

  struct Called {
    std::shared_ptr<Layer> layer;
    std::string config;
    std::vector<std::string> quantization;  // of operands and weights
  };

  void add_inputs();
  void convert(OnnxNode& node);
  bool depends_on_failure(const OnnxNode& node);
  void apply(OnnxNode& node);
  bool moves_integers(const OnnxNode& node);
  void check_stated(const OnnxNode& node) const;
  void trace_import(const OnnxNode& node) const;
  Model model();
  void name_by_outputs(std::span<const SymbolicTensor> outputs);
  /// Returns the layers of nodes that have no layer of their name.
  std::map<std::string, std::string> aliases(
      std::span<const SymbolicTensor> outputs) const;
  std::string unique(const std::string& name);
  void warn_of_floats() const;
  void refuse(const OnnxNode& node, const std::string& reason);

  OnnxGraph& graph_;
  const OnnxImportOptions& options_;
  std::vector<SymbolicTensor> inputs_;
  std::unordered_map<std::string, ImportedValue> values_;
  std::unordered_set<std::string> truths_;                 // boolean values
  std::unordered_map<std::string, std::string> integers_;  // value: type
  OnnxInterface interface_;
  bool one_sample_ = false;  // see Conversion::has_one_sample()
  std::unordered_map<std::string, std::string> failed_;  // value: failed node
  UniqueNames names_;
  std::multimap<std::string, Called> called_;  // by sources of weights
  std::vector<SitePlan> sites_;
  int64_t rectified_ = 0;  // restored ReLU layers
  std::vector<RefusedNode> refused_;
  std::vector<std::string> float_weights_;  // unquantized weights and reasons
};

/// The node that a converter converts. Inputs are numbered as in the operator.
class Conversion {
 public:
  Conversion(Importer& importer, OnnxNode& node)
      : importer_(importer), node_(node) {}

  const std::string& op() const { return node_.proto.op_type(); }
  const OnnxNode& node() const { return node_; }
  const onnx::NodeProto& proto() const { return node_.proto; }
  int64_t opset() const { return importer_.graph_.opset(); }

  int64_t integer(const char* name, int64_t otherwise) const {
    return integer_of(node_.proto, name, otherwise);
  }
  float number(const char* name, float otherwise) const {
    return number_of(node_.proto, name, otherwise);
  }
  std::string text(const char* name, const char* otherwise) const {
    return importing::text_of(node_.proto, name, otherwise);
  }
  bool has_attribute(const char* name) const;
  Sizes integers(const char* name) const {
    return integers_of(node_.proto, name);
  }

  int inputs() const { return node_.proto.input_size(); }
  bool has(int input) const;
  bool is_constant(int input) const;
  /// Throws: UnsupportedError for an input that is not a constant, or depends
  /// on the batch size.
  const Tensor& constant(int input) const;
  /// A float32 constant. Throws: as constant().
  Tensor floats(int input) const;
  /// A single number.
  float scalar(int input) const;
  /// An int64 constant. Throws: UnsupportedError for a batch size.
  Sizes integers(int input) const;
  /// A list of int64 sizes, also of the batch.
  Dims sizes(int input) const;
  /// A constant for the parameter `name`, in ONNX order.
  ImportedWeight weight(int input, const char* name) const;
  /// A float32 constant with a number for each of `count` channels. If it
  /// `broadcasts`, a single number is repeated.
  ImportedWeight channels(int input, const char* name, int64_t count,
                          bool broadcasts = false) const;
  /// Keeps a weight as floats unless its scales per channel are on an axis.
  void expect_scales(ImportedWeight& weight, int64_t axis) const;
  /// Keeps a weight as floats if no layer can keep it quantized; import logs a
  /// warning.
  void keep_as_floats(ImportedWeight& weight, const std::string& reason) const;

  /// Throws: UnsupportedError for a constant.
  const ImportedValue& value(int input) const;
  /// Replaces a constant input by a value.
  void set_value(int input, ImportedValue value);
  /// For layers that only need the batch size.
  const SymbolicTensor& model_input() const;
  Operand operand(int input, std::span<const int> order);
  Operand operand(const LayerAxes& axes);
  /// The tensor of an input in any layout.
  Operand stored(int input) const;
  /// Features [n,c] in the tensor's own order, see rows_as_in().
  Operand features(int input);
  /// Returns a non-negative axis. Throws: UnsupportedError out of range.
  int axis_of(int64_t axis, int rank) const;

  /// Adds a layer with the node's name and returns its output. A layer that
  /// only prepares the input has a `suffix`.
  SymbolicTensor add(const LayerHandle& layer,
                     const std::vector<Operand>& operands,
                     const std::vector<ImportedWeight>& weights = {},
                     const char* suffix = "");
  /// Names the layers that functions of octet/layers/ops.h added for operands:
  /// the last as the node, others also by their class. Quantizers of operands
  /// are placed at their consumers. Returns `y`.
  SymbolicTensor named(const SymbolicTensor& y,
                       const std::vector<Operand>& operands,
                       const char* suffix = "");
  /// Sets the first output to an elementwise function of an input.
  template <class Function>
  void set_elementwise(int input, const Function& function) {
    const ImportedValue& x = value(input);
    set_output({named(function(x.tensor), {stored(input)}), x.layout});
  }
  /// Sets an output.
  void set_output(ImportedValue y, int output = 0);
  /// Sets an output that consists of moved values, with the quantization
  /// parameters of the first input.
  void forward_layout(ImportedValue y, int output = 0);
  /// As above, for another layout of the first input's tensor.
  void forward_layout(AxisLayout layout);
  /// Adds a layer with a slice of the weights of `whole`, with the same input
  /// and quantizers.
  SymbolicTensor part_of_layer(const GraphNode& whole, const LayerHandle& part,
                               const std::vector<ImportedWeight>& weights,
                               const PartOfScales& scales,
                               const std::string& suffix);
  /// Converts a DequantizeLinear. A range from 0 on includes a ReLU, which ONNX
  /// Runtime's quantizer removes: it is restored as a layer if the input may be
  /// negative.
  void quantize(std::shared_ptr<const ActivationQuantParams> qparams);
  const std::shared_ptr<const ActivationQuantParams>& qparams() const {
    return node_.qparams;
  }
  /// Whether an input of the layer is quantized.
  bool has_quantized_input(const Layer& layer) const;
  /// Converts the nodes that this node replaced one by one.
  void convert_parts();
  /// Whether a value is boolean (1 or 0), such as the result of a comparison.
  bool is_truth(int input) const;
  /// Marks the first output as boolean.
  void mark_truth();
  /// Returns the type of an input whose values are integers of the file, which
  /// the model represents as float32; "" for others.
  std::string integer_type(int input) const;
  /// Marks the first output as integers of a type.
  void mark_integers(std::string type);
  /// Makes the first output a constant of these sizes: a list, or one size.
  void set_sizes(const Shape& shape, const Dims& sizes);
  /// Sets the note of the report for a node without a layer.
  void report(const char* text);

  OnnxGraph& graph() const { return importer_.graph_; }
  /// Whether the file computes one sample, because an input has no batch axis.
  bool has_one_sample() const { return importer_.one_sample_; }
  const OnnxImportOptions& options() const { return importer_.options_; }
  const std::string& output() const { return node_.proto.output(0); }
  Namer namer() const;
  [[noreturn]] void refuse(const std::string& reason) const;

 private:
  ImportedValue rectified(const ImportedValue& x,
                          const ActivationQuantParams& qparams);
  const Constant& stored_constant(int input) const;
  void check_samples(int input, const Constant& constant) const;
  std::shared_ptr<Layer> known_layer(
      const LayerHandle& layer, const std::vector<Operand>& operands,
      const std::vector<ImportedWeight>& weights);

  Importer& importer_;
  OnnxNode& node_;
  std::map<int, ImportedValue> made_;  // by input: see set_value()
};

using Converter = void (*)(Conversion&);
/// Returns the converter of a standard operator; null without an equivalent
/// layer.
Converter find_converter(const std::string& op);

}  // namespace octet::io::importing
