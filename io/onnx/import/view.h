// View: the layout of an ONNX value in an Octet tensor. Transposes and reshapes
// of the file only change the view; a layer is added if an operator needs an
// order that the tensor does not have. Internal to io/onnx/import.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <octet/layers/graph.h>

namespace octet::io::importing {

/// Represents the batch among sizes. A prime beyond all sizes of a file: its
/// multiples are axes that contain the batch and other values, and products and
/// quotients of sizes work as with any number.
inline constexpr int64_t kBatch = (int64_t{1} << 32) + 15;
static_assert(INT64_MAX % kBatch != 0, "the end of a Slice is not a batch");

/// Whether the size contains the batch.
inline bool has_batch(int64_t size) { return size > 0 && size % kBatch == 0; }

using Sizes = std::vector<int64_t>;

struct View {
  SymbolicTensor tensor;  ///< [n,...]
  /// Factors of the tensor's axes in its order: kBatch, then the factors of a
  /// sample, without 1.
  Sizes parts;
  /// For each ONNX axis the indices of its factors, outermost first.
  std::vector<std::vector<size_t>> axes;

  int rank() const { return static_cast<int>(axes.size()); }
  /// Returns the ONNX axis of the batch, which may contain other values.
  size_t batch() const;
  /// Whether the first axis is the batch alone.
  bool samples_lead() const;
};

/// Returns the number of values of a sample.
int64_t sample_size(const View& view);

/// `order` contains the ONNX axis of each axis of the tensor; the first is the
/// batch.
View view_of(const SymbolicTensor& tensor, std::span<const int> order);

/// Returns the sizes in ONNX order; the batch is kBatch or a multiple of it.
/// Throws: UnsupportedError beyond 64 bits.
Sizes sizes_of(const View& view);
/// "[N,3,32,32]", "[N*12,197,64]".
std::string text_of(const View& view);
std::string text_of(const Sizes& sizes);

/// ONNX axis i is axis perm[i] of `view`. REQUIRES: a permutation.
View transposed(const View& view, std::span<const int64_t> perm);

/// Returns the same values in ONNX order with other sizes, one of which is
/// kBatch or a multiple of it. Returns nothing if a factor does not divide.
std::optional<View> reshaped(const View& view, const Sizes& sizes);

/// Whether both have the batch at the same axis, between as many other values.
bool same_batch_position(const View& a, const View& b);

/// Splits the axis of the batch: [N*12,197,64] becomes [N,12,197,64].
View split_batch_axis(const View& view);
/// Merges `count` axes from `first` on.
View merge_axes(const View& view, size_t first, size_t count);

/// Layout of a value for a layer that works along one axis: split_batch_axis(),
/// batch first and that axis last.
struct RowLayout {
  RowLayout(const View& given, int axis);
  /// Restores the axes of the original value for the layer's output.
  View back(const SymbolicTensor& y) const;

  View view;
  std::vector<int> order;

 private:
  size_t batch_;  ///< original ONNX axis of the batch
  size_t count_;  ///< number of axes it was split into
};

/// Returns a tensor with the ONNX axes in `order`, batch first: the tensor
/// itself, or the output of layers added to it, named by `name` for their
/// class.
/// Throws: UnsupportedError if the first axis is not the batch alone.
using Namer = std::function<std::string(const char* what)>;
SymbolicTensor materialize(const View& view, std::span<const int> order,
                           const Namer& name);

/// Whether materialize() adds no layer.
bool has_layout(const View& view, std::span<const int> order);

/// Returns an order of the ONNX axes for which materialize() adds no layer,
/// channels last if possible; the file's order, batch first, if there is none.
std::vector<int> natural_order(const View& view);

/// Channels last: {0,2,3,1} for rank 4.
std::vector<int> channels_last(int rank);
/// The file's order with one axis moved to the front.
std::vector<int> axis_first(int rank, int axis);
/// The file's order with the batch moved to the front.
std::vector<int> samples_first(const View& view);
/// {0,1,2,...}.
std::vector<int> file_order(int rank);

/// Permutes the rows of a weight for features [n,c] of ONNX to the tensor's
/// order of the features.
Tensor rows_as_in(const View& view, const Tensor& weight);

}  // namespace octet::io::importing
