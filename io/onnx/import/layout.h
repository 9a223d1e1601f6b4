// Values of a file and their axes in tensors of the model. Transposes and
// reshapes of the file only change the layout; a layer is added if an operator
// needs an order that the tensor does not have. Internal to io/onnx/import.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <octet/layers/detail/axis_layout.h>
#include <octet/layers/graph.h>

namespace octet::io::importing {

struct ActivationQuantParams;

using Sizes = std::vector<int64_t>;
using Dims = std::vector<Dim>;

inline constexpr Dim kBatch{1, true};

/// Returns sizes without the batch.
Dims fixed_dims(std::span<const int64_t> sizes);
/// Returns the product of sizes; nothing for a size below 1, several batches or
/// a product beyond 64 bits.
std::optional<Dim> product(std::span<const Dim> dims);
/// "[N,3,32,32]", "[N*12,197,64]".
std::string text_of(std::span<const Dim> dims);

/// An input or output of a node: a value of the model, possibly quantized.
struct ImportedValue {
  SymbolicTensor tensor = {};  ///< [n,...]
  /// Of the file's axes. A value without batch axis is one sample: its layout
  /// has a stored axis of size 1 in place of the batch.
  AxisLayout layout = {};
  std::shared_ptr<const ActivationQuantParams> qparams = {};

  int rank() const { return static_cast<int>(layout.rank()); }
  Dims dims() const { return layout.dims(); }
  std::string text() const { return text_of(dims()); }
  /// Whether the axis contains the batch.
  bool has_batch(int axis) const;
  /// Whether the first axis is the batch alone.
  bool samples_lead() const;
  /// Returns the number of elements of a sample.
  int64_t sample_size() const;
  /// Returns the same tensor with another layout.
  ImportedValue with(AxisLayout other) const;
};

/// Returns the layout of a tensor that stores the axes in `order`, of which the
/// first is the batch.
AxisLayout layout_of(const SymbolicTensor& tensor, std::span<const int> order);
/// Returns the value of a tensor with this layout.
ImportedValue value_of(const SymbolicTensor& tensor,
                       std::span<const int> order);

/// Returns the value of a tensor with the elements of a layout in this order,
/// in any shape.
ImportedValue value_of(const SymbolicTensor& tensor, const AxisLayout& layout);
/// Returns the layout of a sample of values [N,...].
AxisLayout sample_of(const AxisLayout& layout);

/// Returns the layout with axes of size 1 inserted, or removed.
AxisLayout with_axes(const AxisLayout& layout, std::span<const int64_t> axes);
AxisLayout without_axes(const AxisLayout& layout,
                        std::span<const int64_t> axes);
/// Returns the layout with the axes from `axis` on merged.
AxisLayout with_merged_axes(const AxisLayout& layout, int axis);
/// Makes a leading axis of size 1 the batch of a sample with several axes.
AxisLayout with_leading_batch(const AxisLayout& layout);

/// Whether both have the batch at the same axis, between as many other values.
bool same_batch_position(const ImportedValue& a, const ImportedValue& b);

/// The axes of a value for layers, whose tensors begin with the batch: it gets
/// an axis of its own. [N*12,197] becomes [N,12,197], a sample [5] [N,5].
class LayerAxes {
 public:
  /// Axes in an order of `value`.
  LayerAxes(const ImportedValue& x, std::vector<int> axis_order);
  /// Axes in their natural_order().
  explicit LayerAxes(const ImportedValue& x);
  /// The batch, the other axes and `last`, an axis of the file.
  LayerAxes(const ImportedValue& x, int last);

  /// Returns the position of an axis of the file in the tensor.
  /// REQUIRES: it does not contain the batch.
  int64_t position(int64_t axis) const;
  /// Returns the shape of a sample of the tensor.
  Shape sample() const;
  /// Transposes a constant with the axes of the file, of size 1 for the batch,
  /// to the order of a sample of the tensor.
  Tensor in_order(const Tensor& constant) const;
  /// Restores the axes of the file for a layer's output, in which axes may have
  /// other sizes. Axes that the output lacks have size 1.
  ImportedValue back(const SymbolicTensor& y,
                     std::span<const int64_t> lacking = {}) const;

  ImportedValue value;     ///< with the batch as an axis
  std::vector<int> order;  ///< axes of `value` in the tensor

 private:
  /// Returns the axis of `value` for an axis of the file.
  int64_t moved(int64_t axis) const;

  bool is_sample_;
  size_t batch_ = 0;  ///< axis of the file that contains the batch
  size_t added_ = 0;  ///< axes that the value has in addition
};

/// Returns a tensor with the axes of a value in `order`, batch first: the
/// tensor itself, or the output of layers added to it, named by `name` for
/// their class. Throws: UnsupportedError if the first axis is not the batch
/// alone.
using Namer = std::function<std::string(const char* what)>;
SymbolicTensor materialize(const ImportedValue& x, std::span<const int> order,
                           const Namer& name);

/// Whether materialize() adds no layer.
bool has_layout(const ImportedValue& x, std::span<const int> order);

/// Returns an order of the axes for which materialize() adds no layer, channels
/// last if possible; the file's order, batch first, if there is none.
/// REQUIRES: an axis contains the batch.
std::vector<int> natural_order(const ImportedValue& x);

/// Channels last: {0,2,3,1} for rank 4.
std::vector<int> channels_last(int rank);
/// The file's order with one axis moved to the front.
std::vector<int> axis_first(int rank, int axis);
/// {0,1,2,...}.
std::vector<int> file_order(int rank);

/// Permutes the rows of a weight for features [n,c] of the file to the tensor's
/// order of the features.
Tensor rows_as_in(const ImportedValue& x, const Tensor& weight);

}  // namespace octet::io::importing
