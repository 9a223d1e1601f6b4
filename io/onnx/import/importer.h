// Importer: turns the nodes of an ImportGraph into layers, one after another,
// and collects what cannot be. Conversion: one node as the function sees it
// that converts its operator. Internal to io/onnx/import.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <octet/io/onnx_import.h>
#include <octet/layers/model.h>
#include <octet/quant/plan.h>

#include "graph.h"
#include "quantizers.h"
#include "unique_names.h"
#include "view.h"

namespace octet::io::importing {

/// What a node makes or reads: a value of the model, maybe behind Q/DQ.
struct Value {
  View view;
  std::shared_ptr<const ActivationGrid> grid = {};
};

/// The product of queries and keys, which waits for that with the values.
struct Scores {
  Value query;  ///< [N,heads,t,d]
  Value key;    ///< [N,heads,d,s]
  float scale = 1;
  bool weights = false;  ///< behind the Softmax
  int rank = 4;          ///< in ONNX
};

/// An input of a layer.
struct Operand {
  SymbolicTensor tensor;
  std::shared_ptr<const ActivationGrid> grid = {};
};

/// Which scales of a weight are those of a part of its outputs: of groups of
/// `size` times `inner` ones, `count` times `inner` from `first` on.
struct PartOfScales {
  int64_t size = 1;
  int64_t inner = 1;
  int64_t first = 0;
  int64_t count = 1;
};

/// A parameter of a layer, in the order of its parameters().
struct Weight {
  std::string name;  ///< "kernel"
  Tensor value;
  /// With as many scales as the parameter has channels, or one.
  std::optional<WeightGrid> grid = {};
  std::string source = {};
};

class Importer {
 public:
  Importer(ImportGraph& graph, const OnnxImportOptions& options);

  /// Throws: as import_onnx().
  OnnxImport run();

 private:
  friend class Conversion;

  struct Called {
    std::shared_ptr<Layer> layer;
    std::string config;
    std::vector<std::string> grids;  // of operands and weights
  };

  void add_inputs();
  void convert(ImportNode& node);
  bool moves_integers(const ImportNode& node);
  void check_stated(const ImportNode& node) const;
  Model model();
  void name_by_outputs(std::span<const SymbolicTensor> outputs);
  std::string unique(const std::string& name);
  void warn_of_floats() const;
  void refuse(const ImportNode& node, const std::string& reason);

  ImportGraph& graph_;
  const OnnxImportOptions& options_;
  std::vector<SymbolicTensor> inputs_;
  std::unordered_map<std::string, Value> values_;
  std::unordered_map<std::string, Scores> scores_;
  std::unordered_set<std::string> truths_;                 // values of 1 and 0
  std::unordered_map<std::string, std::string> integers_;  // values: types
  OnnxInterface interface_;
  std::unordered_map<std::string, std::string> failed_;  // values: why
  UniqueNames names_;
  std::multimap<std::string, Called> called_;  // by sources of weights
  std::vector<SitePlan> sites_;
  int64_t rectified_ = 0;  // ReLU layers in front of pairs
  std::vector<std::string> refused_;
  std::vector<std::string> without_codes_;  // weights, and why
};

/// One node. Input numbers are those of the operator.
class Conversion {
 public:
  Conversion(Importer& importer, ImportNode& node)
      : importer_(importer), node_(node) {}

  const std::string& op() const { return node_.proto.op_type(); }
  const ImportNode& node() const { return node_; }
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
  /// Throws: UnsupportedError for an input that is none.
  const Tensor& constant(int input) const;
  /// Of float32. Throws: the same.
  Tensor floats(int input) const;
  /// A single number.
  float scalar(int input) const;
  /// Of int64. Throws: UnsupportedError for one that counts samples.
  Sizes integers(int input) const;
  /// The same, those that count samples among them (see kBatch).
  Sizes sizes(int input) const;
  /// A constant to be the parameter `name`, still in ONNX' order.
  Weight weight(int input, const char* name) const;
  /// Where no layer can keep the codes of a weight: it stays as floats, and a
  /// warning says so.
  void drop_codes(Weight& weight, const std::string& reason) const;

  /// Throws: UnsupportedError for a constant.
  const Value& value(int input) const;
  /// What the node sees as that input, in place of a constant.
  void set_value(int input, Value value);
  /// For layers that only ask how many samples there are.
  const SymbolicTensor& model_input() const;
  const View& view(int input) const;
  Operand operand(int input, std::span<const int> order);
  Operand operand(int input, const Rows& rows);
  /// As it lies.
  Operand as_it_lies(int input) const;
  /// Features [n,c] in the tensor's own order, see rows_as_in().
  Operand features(int input);
  /// An axis from the front. Throws: UnsupportedError out of range.
  int axis_of(int64_t axis, int rank) const;

  /// The layer's output. It has the node's name; one that only prepares its
  /// input has a `suffix`.
  SymbolicTensor add(const LayerHandle& layer,
                     const std::vector<Operand>& operands,
                     const std::vector<Weight>& weights = {},
                     const char* suffix = "");
  /// The first output; the others are not made.
  void give(View view);
  /// The same, of a node that only moves values: behind the Q/DQ of its input.
  void pass(View view, int output = 0);
  /// A layer with some of the weights of another, on what that one reads; those
  /// that quantize that one quantize it.
  SymbolicTensor part_of_layer(const GraphNode& whole, const LayerHandle& part,
                               const std::vector<Weight>& weights,
                               const PartOfScales& scales,
                               const std::string& suffix);
  /// Of a DequantizeLinear: what its input is behind the pair. Codes from zero
  /// on are a ReLU as well, which ONNX Runtime's quantizer then leaves out: it
  /// is a layer again, where the input may be negative.
  void quantize(std::shared_ptr<const ActivationGrid> grid);
  const std::shared_ptr<const ActivationGrid>& grid() const {
    return node_.grid;
  }
  /// Whether what the layer reads is behind Q/DQ.
  bool reads_codes(const Layer& layer) const;
  /// The product that input waits as, or null.
  Scores* scores(int input) const;
  /// The first output is such a product.
  void wait(Scores scores);
  /// Whether a value is 1 or 0: what a comparison gave.
  bool is_truth(int input) const;
  /// The first output is.
  void mark_truth();
  /// The first output is a constant.
  void give_constant(const Tensor& value);
  /// The note of the report, for what is no layer.
  void note(const char* text);

  ImportGraph& graph() const { return importer_.graph_; }
  const OnnxImportOptions& options() const { return importer_.options_; }
  const std::string& output() const { return node_.proto.output(0); }
  Namer namer() const;
  [[noreturn]] void refuse(const std::string& reason) const;

 private:
  View rectified(const Value& x, const ActivationGrid& grid);
  void check_samples(int input, const Constant& constant) const;
  std::shared_ptr<Layer> known_layer(const LayerHandle& layer,
                                     const std::vector<Operand>& operands,
                                     const std::vector<Weight>& weights);

  Importer& importer_;
  ImportNode& node_;
  std::map<int, Value> made_;  // by input: see set_value()
};

using Converter = void (*)(Conversion&);
/// Of a standard operator; null where no layer is like it.
Converter find_converter(const std::string& op);

}  // namespace octet::io::importing
