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

/// Stands for the batch among sizes. A prime beyond all of a file's sizes, so
/// that its multiples are the sizes of axes that samples share with others, and
/// products and quotients of sizes are calculated as of any numbers.
inline constexpr int64_t kBatch = (int64_t{1} << 32) + 15;
static_assert(INT64_MAX % kBatch != 0, "the end of a Slice is no batch");

/// Whether it counts samples.
inline bool has_batch(int64_t size) { return size > 0 && size % kBatch == 0; }

using Sizes = std::vector<int64_t>;

struct View {
  SymbolicTensor tensor;  ///< [n,...]
  /// kBatch, then a sample taken apart, in the order in which the tensor has
  /// it. No 1.
  Sizes parts;
  /// Of each ONNX axis the parts that it is made of, outermost first.
  std::vector<std::vector<size_t>> axes;

  int rank() const { return static_cast<int>(axes.size()); }
  /// The ONNX axis of the samples, alone or with others.
  size_t batch() const;
  /// Whether the first axis is that of the samples, alone.
  bool samples_lead() const;
};

/// The product of a sample's sizes.
int64_t sample_size(const View& view);

/// `order` says which ONNX axis each axis of the tensor is; the first is the
/// batch.
View view_of(const SymbolicTensor& tensor, std::span<const int> order);

/// In the order of ONNX, that of the samples as kBatch or a multiple of it.
/// Throws: UnsupportedError beyond 64 bits.
Sizes sizes_of(const View& view);
/// "[N,3,32,32]", "[N*12,197,64]".
std::string text_of(const View& view);
std::string text_of(const Sizes& sizes);

/// ONNX axis i is axis perm[i] of `view`. REQUIRES: a permutation.
View transposed(const View& view, std::span<const int64_t> perm);

/// The same values in ONNX' order under other sizes, one of which is kBatch or
/// a multiple of it. Nothing where that cuts through a part.
std::optional<View> reshaped(const View& view, const Sizes& sizes);

/// Whether the samples of both lie on the same axis, between as many others.
bool samples_lie_alike(const View& a, const View& b);

/// With the samples on an axis of their own: [N*12,197,64] as [N,12,197,64].
View apart(const View& view);
/// `count` axes from `first` on as one.
View joined(const View& view, size_t first, size_t count);

/// A value as a layer reads it that works along one axis: apart(), the samples
/// in front and that axis last.
struct Rows {
  Rows(const View& given, int axis);
  /// What such a layer made of them, with the axes of what was given.
  View back(const SymbolicTensor& y) const;

  View view;
  std::vector<int> order;

 private:
  size_t batch_;  ///< the ONNX axis of the samples as given,
  size_t count_;  ///< and how many axes it became
};

/// What has the ONNX axes in `order`, the batch first: the tensor, or layers
/// after it whose names `name` gives for their classes.
/// Throws: UnsupportedError for another axis in the place of the batch, and for
/// samples that share theirs with others.
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
/// The file's own, but for one axis.
std::vector<int> axis_first(int rank, int axis);
/// The same of the axis of the samples.
std::vector<int> samples_first(const View& view);
/// {0,1,2,...}.
std::vector<int> file_order(int rank);

/// The rows of a weight that belong to the features of `view`, [n,c] in ONNX,
/// in the order in which the tensor has them.
Tensor rows_as_in(const View& view, const Tensor& weight);

}  // namespace octet::io::importing
