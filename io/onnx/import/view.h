// View: how a value of an ONNX graph lies in a tensor of Octet's. Transposes
// and reshapes of the file only change the view; a layer appears where an
// operator needs an order that the tensor does not have. Internal to
// io/onnx/import.
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

/// Stands for the batch among sizes: no sum or product of a file's sizes.
inline constexpr int64_t kBatch = INT64_MIN / 2 + 7;

using Sizes = std::vector<int64_t>;

struct View {
  SymbolicTensor tensor;  ///< [n,...]
  /// A sample taken apart, in the order in which the tensor has it. No 1.
  Sizes parts;
  /// Of each ONNX axis the parts that it is made of, outermost first.
  std::vector<std::vector<size_t>> axes;
  size_t batch = 0;  ///< the ONNX axis of the samples, which has no parts

  int rank() const { return static_cast<int>(axes.size()); }
};

/// `order` says which ONNX axis each axis of the tensor is; the first is the
/// batch.
View view_of(const SymbolicTensor& tensor, std::span<const int> order);

/// In the order of ONNX, the batch as kBatch.
Sizes sizes_of(const View& view);
/// "[N,3,32,32]".
std::string text_of(const View& view);

/// ONNX axis i is axis perm[i] of `view`. REQUIRES: a permutation.
View transposed(const View& view, std::span<const int64_t> perm);

/// The same values in ONNX' order under other sizes, one of which is kBatch.
/// Nothing where that joins samples or cuts through a part.
std::optional<View> reshaped(const View& view, const Sizes& sizes);

/// What has the ONNX axes in `order`, the batch first: the tensor, or layers
/// after it whose names `name` gives for their classes.
/// Throws: UnsupportedError for another axis in the place of the batch.
using Namer = std::function<std::string(const char* what)>;
SymbolicTensor arranged(const View& view, std::span<const int> order,
                        const Namer& name);

/// Whether arranged() would add no layer.
bool lies_in(const View& view, std::span<const int> order);

/// An order of the ONNX axes in which the tensor lies already, channels last if
/// that is one; the file's own if there is none.
std::vector<int> natural_order(const View& view);

/// Channels last: {0,2,3,1} of rank 4.
std::vector<int> channels_last(int rank);
/// The file's own, but for the axis of the samples.
std::vector<int> samples_first(const View& view);
/// {0,1,2,...}.
std::vector<int> file_order(int rank);

/// The rows of a weight that belong to the features of `view`, [n,c] in ONNX,
/// in the order in which the tensor has them.
Tensor rows_as_in(const View& view, const Tensor& weight);

}  // namespace octet::io::importing
