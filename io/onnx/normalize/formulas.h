// Formulas: operators as expressions of other operators. One table serves the
// reference executor, which evaluates them, and import, which inserts their
// nodes. Internal to io/onnx.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <onnx/onnx_pb.h>

#include <octet/runtime/tensor.h>

namespace octet::io::formula {

/// A value of a graph in construction; absent if it has no tensor and no name.
struct GraphValue {
  std::string name = {};  ///< in a file; empty in the executor
  /// Elements; null if unknown, never in the executor.
  std::shared_ptr<const Tensor> tensor = {};
  explicit operator bool() const { return tensor || !name.empty(); }
  bool operator==(const GraphValue&) const = default;
};

using GraphValues = std::vector<GraphValue>;
using Integers = std::vector<int64_t>;

/// Thrown in import, where a graph depends on unknown sizes or elements.
struct Unknown {};

/// Builds the graph that replaces a node.
class FormulaGraph {
 public:
  FormulaGraph(const onnx::NodeProto& node, int64_t opset)
      : node_(node), opset_(opset) {}
  virtual ~FormulaGraph() = default;
  FormulaGraph(const FormulaGraph&) = delete;
  FormulaGraph& operator=(const FormulaGraph&) = delete;

  const onnx::NodeProto& node() const { return node_; }
  int64_t opset() const { return opset_; }
  virtual bool is_import() const { return false; }

  virtual GraphValue input(size_t i) = 0;
  virtual GraphValue constant(const Tensor& value) = 0;
  /// Appends `node`, written in the form of `opset`, with these inputs, and
  /// returns its first output. Import rewrites axes to the form of the file's
  /// opset.
  virtual GraphValue add(onnx::NodeProto node, const GraphValues& inputs,
                         int64_t opset) = 0;

  /// Return the dimensions or type (onnx::TensorProto::DataType) of a value.
  /// Throw: Unknown.
  virtual Integers dims(const GraphValue& value) const = 0;
  virtual int64_t type(const GraphValue& value) const = 0;

  /// Throw FormatError or UnsupportedError that names the node.
  [[noreturn]] virtual void refuse(const std::string& problem) const = 0;
  [[noreturn]] virtual void unsupported(const std::string& problem) const = 0;

 private:
  const onnx::NodeProto& node_;
  int64_t opset_;
};

/// Where a formula applies: import converts most operators to layers itself.
enum class Use { reference, import, both };

struct Formula {
  /// "Operator(input, input = default; attribute = default) = formula", see
  /// formula_interpreter.cpp. Operators with the same formula are joined by "|"
  /// and, outside the standard domain, have the prefix "DOMAIN.".
  std::string_view text;
  Use use = Use::reference;
  int64_t before =
      INT64_MAX;  ///< first opset in which the formula does not apply
};

/// Returns the part of the table in formulas_tensors.cpp.
std::span<const Formula> tensor_formulas();

/// Returns the formula of an operator in an opset, or null.
const Formula* find_formula(const onnx::NodeProto& node, int64_t opset,
                            Use use);
/// Returns a formula that other formulas call, or null.
const Formula* find_function(const std::string& name);

/// Returns the outputs of a node by its formula; nothing if it stays as it is.
GraphValues outputs_of(FormulaGraph& graph, const Formula& formula);

}  // namespace octet::io::formula
