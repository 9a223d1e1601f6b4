// Layers of several inputs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <octet/layers/graph.h>

namespace octet {

struct AddOptions {
  std::string name = "";
};

/// Adds its inputs element by element: `Add()({x, y})`.
/// Takes a vector of inputs of equal or broadcastable shapes; inputs of lower
/// rank get axes of size 1 after the batch axis, as in Keras.
/// Throws: ShapeError for shapes that do not broadcast; ValueError for an empty
/// vector.
class Add : public LayerHandle {
 public:
  explicit Add(const AddOptions& options = {});
};

struct SubtractOptions {
  std::string name = "";
};

/// Subtracts the second input from the first. Takes a vector of inputs of
/// equal or broadcastable shapes; inputs of lower rank get axes of size 1 after
/// the batch axis, as in Keras.
/// Throws: ShapeError for shapes that do not broadcast; ValueError unless there
/// are two inputs.
class Subtract : public LayerHandle {
 public:
  explicit Subtract(const SubtractOptions& options = {});
};

struct MultiplyOptions {
  std::string name = "";
};

/// Multiplies its inputs element by element. Takes a vector of inputs of equal
/// or broadcastable shapes; inputs of lower rank get axes of size 1 after the
/// batch axis, as in Keras.
/// Throws: ShapeError for shapes that do not broadcast; ValueError for an empty
/// vector.
class Multiply : public LayerHandle {
 public:
  explicit Multiply(const MultiplyOptions& options = {});
};

struct DivideOptions {
  std::string name = "";
};

/// Divides the first input by the second; x / 0 is an infinity.
/// Takes a vector of inputs of equal or broadcastable shapes; inputs of lower
/// rank get axes of size 1 after the batch axis, as in Keras.
/// Throws: ShapeError for shapes that do not broadcast; ValueError unless there
/// are two inputs.
class Divide : public LayerHandle {
 public:
  explicit Divide(const DivideOptions& options = {});
};

/// Fields in order: exponent, name
struct PowerOptions {
  float exponent = 1;
  std::string name = "";
};

/// Computes x^exponent for each element; NaN for negative x and a non-integer
/// exponent.
/// Shapes: [n,...] -> [n,...].
/// Throws: ValueError for a non-finite exponent.
class Power : public LayerHandle {
 public:
  explicit Power(const PowerOptions& options);
  explicit Power(float exponent) : Power(PowerOptions{.exponent = exponent}) {}
};

struct AverageOptions {
  std::string name = "";
};

/// Averages its inputs element by element. Takes a vector of inputs of equal or
/// broadcastable shapes; inputs of lower rank get axes of size 1 after the
/// batch axis, as in Keras.
/// Throws: ShapeError for shapes that do not broadcast; ValueError for an empty
/// vector.
class Average : public LayerHandle {
 public:
  explicit Average(const AverageOptions& options = {});
};

struct MaximumOptions {
  std::string name = "";
};

/// Elementwise maximum of its inputs; ties share the gradient. Takes a vector
/// of inputs of equal or broadcastable shapes; inputs of lower rank get axes of
/// size 1 after the batch axis, as in Keras.
/// Throws: ShapeError for shapes that do not broadcast; ValueError for an empty
/// vector.
class Maximum : public LayerHandle {
 public:
  explicit Maximum(const MaximumOptions& options = {});
};

struct MinimumOptions {
  std::string name = "";
};

/// Elementwise minimum of its inputs; ties share the gradient. Takes a vector
/// of inputs of equal or broadcastable shapes; inputs of lower rank get axes of
/// size 1 after the batch axis, as in Keras.
/// Throws: ShapeError for shapes that do not broadcast; ValueError for an empty
/// vector.
class Minimum : public LayerHandle {
 public:
  explicit Minimum(const MinimumOptions& options = {});
};

/// Fields in order: axis, name
struct ConcatenateOptions {
  int64_t axis = -1;  ///< batch is axis 0; negative counts from the end
  std::string name = "";
};

/// Concatenates its inputs along an axis: `Concatenate()({a, b})`.
/// Throws: ValueError for the batch axis; ShapeError for inputs that differ in
/// another axis.
class Concatenate : public LayerHandle {
 public:
  explicit Concatenate(const ConcatenateOptions& options = {});
};

/// Fields in order: axes, normalize, name
struct DotOptions {
  /// Axes to contract: one for both inputs, or one for each.
  std::vector<int64_t> axes = {-1};
  bool normalize = false;  ///< normalizes both first: cosine similarity
  std::string name = "";
};

/// Contracts an axis of each of two inputs, sample by sample.
/// Shapes: [n,a,k], [n,k,b] with axes {2, 1} -> [n,a,b]; [n,k], [n,k,b] ->
/// [n,b]; [n,k], [n,k] -> [n,1].
/// Throws: ValueError unless there are two inputs and one or two axes, none of
/// them the batch; ShapeError for inputs of rank other than 2 or 3, or axes of
/// different sizes.
class Dot : public LayerHandle {
 public:
  explicit Dot(const DotOptions& options = {});
};

/// Fields in order: transpose_a, transpose_b, name
struct MatmulLayerOptions {
  bool transpose_a = false;  ///< first input is [...,k,m]
  bool transpose_b = false;  ///< second input is [...,l,k]
  std::string name = "";
};

/// Multiplies the matrices in the last two axes of its two inputs, sample by
/// sample: `Matmul({.transpose_b = true})({query, key})`.
/// Shapes: {[n,...,m,k], [n,...,k,l]} -> [n,...,m,l]; the middle axes are
/// equal, or 1 in one input.
/// Throws: ValueError unless there are two inputs; ShapeError for rank < 3 or
/// sizes that do not match.
class Matmul : public LayerHandle {
 public:
  explicit Matmul(const MatmulLayerOptions& options = {});
};

/// Fields in order: operation, value, name
struct CompareOptions {
  /// "equal", "not_equal", "greater", "greater_equal", "less" or "less_equal".
  std::string operation = "";
  /// Constant second operand; if set, the layer has one input, else two.
  std::optional<float> value = {};
  std::string name = "";
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
  explicit Compare(const CompareOptions& options);
};

/// Fields in order: x, y, name
struct WhereOptions {
  /// Constants in place of the tensors x and y.
  std::optional<float> x = {};
  std::optional<float> y = {};
  std::string name = "";
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
  explicit Where(const WhereOptions& options = {});
};

}  // namespace octet
