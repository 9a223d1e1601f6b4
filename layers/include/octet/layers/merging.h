// Layers of several inputs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <octet/layers/graph.h>

namespace octet {

/// Options of Add.
struct AddOptions {
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Adds its inputs element by element: `Add()({x, y})`.
/// Takes a vector of inputs of equal or broadcastable shapes; inputs of lower
/// rank get axes of size 1 after the batch axis, as in Keras.
/// Throws: ShapeError for shapes that do not broadcast; ValueError for an empty
/// vector.
class Add : public LayerHandle {
 public:
  /// Each call checks its inputs.
  explicit Add(const AddOptions& options = {});
};

/// Options of Subtract.
struct SubtractOptions {
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Subtracts the second input from the first. Takes a vector of inputs of
/// equal or broadcastable shapes; inputs of lower rank get axes of size 1 after
/// the batch axis, as in Keras.
/// Throws: ShapeError for shapes that do not broadcast; ValueError unless there
/// are two inputs.
class Subtract : public LayerHandle {
 public:
  /// Each call checks its inputs.
  explicit Subtract(const SubtractOptions& options = {});
};

/// Options of Multiply.
struct MultiplyOptions {
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Multiplies its inputs element by element. Takes a vector of inputs of equal
/// or broadcastable shapes; inputs of lower rank get axes of size 1 after the
/// batch axis, as in Keras.
/// Throws: ShapeError for shapes that do not broadcast; ValueError for an empty
/// vector.
class Multiply : public LayerHandle {
 public:
  /// Each call checks its inputs.
  explicit Multiply(const MultiplyOptions& options = {});
};

/// Options of Divide.
struct DivideOptions {
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Divides the first input by the second; x / 0 is an infinity.
/// Takes a vector of inputs of equal or broadcastable shapes; inputs of lower
/// rank get axes of size 1 after the batch axis, as in Keras.
/// Throws: ShapeError for shapes that do not broadcast; ValueError unless there
/// are two inputs.
class Divide : public LayerHandle {
 public:
  /// Each call checks its inputs.
  explicit Divide(const DivideOptions& options = {});
};

/// Options of Average.
struct AverageOptions {
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Averages its inputs element by element. Takes a vector of inputs of equal or
/// broadcastable shapes; inputs of lower rank get axes of size 1 after the
/// batch axis, as in Keras.
/// Throws: ShapeError for shapes that do not broadcast; ValueError for an empty
/// vector.
class Average : public LayerHandle {
 public:
  /// Each call checks its inputs.
  explicit Average(const AverageOptions& options = {});
};

/// Options of Maximum.
struct MaximumOptions {
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Elementwise maximum of its inputs; ties share the gradient. Takes a vector
/// of inputs of equal or broadcastable shapes; inputs of lower rank get axes of
/// size 1 after the batch axis, as in Keras.
/// Throws: ShapeError for shapes that do not broadcast; ValueError for an empty
/// vector.
class Maximum : public LayerHandle {
 public:
  /// Each call checks its inputs.
  explicit Maximum(const MaximumOptions& options = {});
};

/// Options of Minimum.
struct MinimumOptions {
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Elementwise minimum of its inputs; ties share the gradient. Takes a vector
/// of inputs of equal or broadcastable shapes; inputs of lower rank get axes of
/// size 1 after the batch axis, as in Keras.
/// Throws: ShapeError for shapes that do not broadcast; ValueError for an empty
/// vector.
class Minimum : public LayerHandle {
 public:
  /// Each call checks its inputs.
  explicit Minimum(const MinimumOptions& options = {});
};

/// Options of Concatenate.
/// Fields in order: axis, name
struct ConcatenateOptions {
  int64_t axis = -1;      ///< not the batch (0); negative counts from the end
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Concatenates its inputs along an axis: `Concatenate()({a, b})`.
/// Throws: ValueError for axis 0 or an empty vector; ShapeError for inputs that
/// differ in another axis, or an axis out of range.
class Concatenate : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit Concatenate(const ConcatenateOptions& options = {});
};

/// Options of Dot.
/// Fields in order: axes, normalize, name
struct DotOptions {
  /// Axes to contract, other than the batch (0): one for both inputs, or one
  /// for each. Negative axes count from the end.
  std::vector<int64_t> axes = {-1};
  bool normalize = false;  ///< normalizes both first: cosine similarity
  std::string name = "";   ///< unique in a model; empty: from the class name
};

/// Contracts an axis of each of two inputs, sample by sample.
/// Shapes: [n,a,k], [n,k,b] with axes {2, 1} -> [n,a,b]; [n,k], [n,k,b] ->
/// [n,b]; [n,k], [n,k] -> [n,1].
/// Throws: ValueError unless there are two inputs and one or two axes, none of
/// them the batch; ShapeError for inputs of rank other than 2 or 3, an axis out
/// of range, or axes of different sizes.
class Dot : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit Dot(const DotOptions& options = {});
};

/// Options of Matmul.
/// Fields in order: transpose_a, transpose_b, name
struct MatmulLayerOptions {
  bool transpose_a = false;  ///< first input is [...,k,m]
  bool transpose_b = false;  ///< second input is [...,l,k]
  std::string name = "";     ///< unique in a model; empty: from the class name
};

/// Multiplies the matrices in the last two axes of its two inputs, sample by
/// sample: `Matmul({.transpose_b = true})({query, key})`.
/// Shapes: {[n,...,m,k], [n,...,k,l]} -> [n,...,m,l]; the middle axes are
/// equal, or 1 in one input.
/// Throws: ValueError unless there are two inputs; ShapeError for rank < 3 or
/// sizes that do not match.
class Matmul : public LayerHandle {
 public:
  /// Each call checks its inputs.
  explicit Matmul(const MatmulLayerOptions& options = {});
};

/// Options of Compare.
/// Fields in order: operation, value, name
struct CompareOptions {
  /// Required: "equal", "not_equal", "greater", "greater_equal", "less" or
  /// "less_equal".
  std::string operation = "";
  /// Constant second operand; if set, the layer has one input, else two.
  std::optional<float> value = {};
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Returns 1 for elements that satisfy the comparison, else 0. No gradient.
///
///   Compare({.operation = "greater", .value = 0.5f})(x)
///   Compare({.operation = "less"})({x, y})
///
/// Two inputs broadcast as in Add. NaN equals nothing.
/// Throws: ValueError for an unknown operation or a wrong number of inputs;
/// ShapeError for shapes that do not broadcast.
class Compare : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit Compare(const CompareOptions& options);
};

/// Options of Where.
/// Fields in order: x, y, name
struct WhereOptions {
  std::optional<float> x = {};  ///< constant in place of the tensor x
  std::optional<float> y = {};  ///< constant in place of the tensor y
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Selects elementwise: x if the condition is not 0, else y. Elements that are
/// not selected get no gradient and may be NaN.
///
///   Where()({condition, x, y})
///   Where({.y = 0})({condition, x})
///
/// Inputs broadcast as in Add.
/// Throws: ValueError for a wrong number of inputs; ShapeError for shapes that
/// do not broadcast.
class Where : public LayerHandle {
 public:
  /// Each call checks its inputs.
  explicit Where(const WhereOptions& options = {});
};

}  // namespace octet
