// Layers that move, select, repeat or reduce values.
#pragma once

#include <string>
#include <vector>

#include <octet/layers/graph.h>
#include <octet/runtime/ops/nn.h>
#include <octet/runtime/tensor.h>

namespace octet {

/// Options of Flatten.
struct FlattenOptions {
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Merges all axes but the batch, in row-major order (h, w, c).
/// Shapes: [n,...] -> [n,size].
class Flatten : public LayerHandle {
 public:
  /// Each call checks its inputs.
  explicit Flatten(const FlattenOptions& options = {});
};

/// Options of Reshape.
/// Fields in order: target_shape, name
struct ReshapeOptions {
  /// Shape of one sample: sizes >= 1; a single -1 is inferred.
  std::vector<int64_t> target_shape{};
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Reshapes each sample, in row-major order.
/// Shapes: [n,...] -> [n,target_shape...].
/// Throws: ValueError for a size < 1 other than -1, or a second -1; ShapeError
/// for samples with another number of elements.
class Reshape : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit Reshape(const ReshapeOptions& options = {});
};

/// Options of Permute.
/// Fields in order: dims, name
struct PermuteOptions {
  std::vector<int64_t> dims{};  ///< permutation of 1 to the rank of a sample
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Transposes the axes of each sample: axis i of the output is axis `dims[i]`
/// of the input.
/// Throws: ValueError if `dims` is not a permutation of 1, 2, ...; ShapeError
/// for samples of another rank.
class Permute : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit Permute(const PermuteOptions& options = {});
};

/// Options of RepeatVector.
/// Fields in order: n, name
struct RepeatVectorOptions {
  int64_t n = 1;          ///< number of repetitions, in [1, 2^31)
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Repeats each vector n times as the steps of a sequence.
/// Shapes: [b,c] -> [b,n,c].
/// Throws: ValueError for n < 1; ShapeError for inputs other than [b,c].
class RepeatVector : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit RepeatVector(const RepeatVectorOptions& options = {});
};

/// Options of Cropping1D.
/// Fields in order: cropping, name
struct Cropping1DOptions {
  Ends cropping = 1;      ///< steps removed at each end, in [0, 2^20)
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Removes steps at both ends of each sequence.
/// Shapes: [n,l,c] -> [n,l-begin-end,c].
/// Throws: ValueError for negative sizes; ShapeError for inputs other than
/// sequences or if the output would be empty.
class Cropping1D : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit Cropping1D(const Cropping1DOptions& options = {});
};

/// Options of Cropping2D.
/// Fields in order: cropping, name
struct Cropping2DOptions {
  Pads cropping{};        ///< pixels removed at each side, in [0, 2^20)
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Removes pixels at the borders of each image.
/// Shapes: [n,h,w,c] -> [n,h-top-bottom,w-left-right,c].
/// Throws: ValueError for negative sizes; ShapeError for inputs other than
/// images or if the output would be empty.
class Cropping2D : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit Cropping2D(const Cropping2DOptions& options = {});
};

/// Options of ZeroPadding1D.
/// Fields in order: padding, name
struct ZeroPadding1DOptions {
  Ends padding = 1;       ///< steps added at each end, in [0, 2^20)
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Pads each sequence with zeros at both ends.
/// Shapes: [n,l,c] -> [n,begin+l+end,c].
/// Throws: ValueError for negative sizes; ShapeError for inputs other than
/// sequences.
class ZeroPadding1D : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit ZeroPadding1D(const ZeroPadding1DOptions& options = {});
};

/// Options of ZeroPadding2D.
/// Fields in order: padding, name
struct ZeroPadding2DOptions {
  Pads padding{1, 1, 1, 1};  ///< pixels added at each side, in [0, 2^20)
  std::string name = "";     ///< unique in a model; empty: from the class name
};

/// Pads each image with zeros at the borders.
/// Shapes: [n,h,w,c] -> [n,top+h+bottom,left+w+right,c].
/// Throws: ValueError for negative sizes; ShapeError for inputs other than
/// images.
class ZeroPadding2D : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit ZeroPadding2D(const ZeroPadding2DOptions& options = {});
};

/// Options of Pad.
/// Fields in order: begin, end, mode, value, name
struct PadOptions {
  /// Entries added before each axis of a sample, in [0, 2^20).
  std::vector<int64_t> begin = {};
  /// Entries added after each axis of a sample, in [0, 2^20).
  std::vector<int64_t> end = {};
  /// Added entries, as in numpy.pad: "constant", "edge", "reflect" (without the
  /// edge), "symmetric" (with it) or "wrap".
  std::string mode = "constant";
  float value = 0;        ///< added entries of mode "constant", finite
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Pads any axes of samples. Zeros around images and sequences: ZeroPadding2D
/// and ZeroPadding1D, which combine with convolutions.
/// Throws: ValueError for an unknown mode, counts out of range, or a value that
/// is not finite; ShapeError unless there is a count for each axis, and for
/// "reflect" and "symmetric" if entries are missing.
class Pad : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit Pad(const PadOptions& options);
};

/// Options of UpSampling1D.
/// Fields in order: size, name
struct UpSampling1DOptions {
  int64_t size = 2;       ///< repetitions of each step, in [1, 2^20)
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Repeats every step of a sequence `size` times.
/// Shapes: [n,l,c] -> [n,l*size,c].
/// Throws: ValueError for sizes < 1; ShapeError for inputs other than
/// sequences.
class UpSampling1D : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit UpSampling1D(const UpSampling1DOptions& options = {});
};

/// Options of UpSampling2D.
/// Fields in order: size, interpolation, name
struct UpSampling2DOptions {
  Size2 size{2, 2};  ///< vertical and horizontal factor, in [1, 2^20)
  std::string interpolation = "nearest";  ///< or "bilinear"
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Enlarges images by the factors `size`, as in Keras: "nearest" repeats
/// pixels, "bilinear" interpolates between pixel centers.
/// Shapes: [n,h,w,c] -> [n,h*size.h,w*size.w,c].
/// Throws: ValueError for sizes < 1 or an unknown interpolation; ShapeError for
/// inputs other than images.
class UpSampling2D : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit UpSampling2D(const UpSampling2DOptions& options = {});
};

/// Options of Gather.
/// Fields in order: indices, axis, name
struct GatherOptions {
  /// Required: indices along the axis. They may repeat; negative ones count
  /// from the end.
  std::vector<int64_t> indices = {};
  int64_t axis = -1;      ///< not the batch (0); negative counts from the end
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Selects elements along an axis by index: repetition, reversal, mirror or
/// edge padding, as `indices` define.
/// Shapes: the size of the axis becomes the number of indices.
/// Throws: ValueError for empty indices or the batch axis; ShapeError for an
/// axis or indices out of range.
class Gather : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit Gather(const GatherOptions& options = {});
};

/// Options of GetItem.
/// Fields in order: index, name
struct GetItemOptions {
  /// One index per axis, starting with the batch, which must stay whole: x[:,
  /// 1:, 0] in Python is {Slice(), Slice(1), 0}.
  std::vector<Index> index = {};
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Slices each sample, as x[...] of a Keras tensor; created by
/// SymbolicTensor::index().
/// Shapes: as Variable::index().
/// Throws: ValueError for a batch index other than Slice() or "...", or two
/// ellipses; ShapeError for more indices than axes, an index out of range, or
/// an empty result.
class GetItem : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit GetItem(const GetItemOptions& options = {});
};

/// Options of Reduce.
/// Fields in order: operation, axes, keepdims, name
struct ReduceOptions {
  /// Required: "argmax", "argmin", "max", "mean", "min", "prod" or "sum".
  std::string operation = "";
  /// Required: axes to reduce, in any order, without the batch (axis 0).
  /// Negative axes count from the end.
  std::vector<int64_t> axes = {};
  bool keepdims = false;  ///< keeps the reduced axes, with size 1
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Reduces axes of each sample. octet/layers/ops.h has a function for each
/// operation: mean(), sum(), max(), min(), prod(), argmax(), argmin().
/// octet/runtime/ops/arithmetic.h documents the numerics. The ONNX export is a
/// single ReduceMax, ReduceMean, ReduceMin, ReduceProd or ReduceSum. argmax and
/// argmin take one axis and return the index of the first extremum, without
/// gradient: ONNX ArgMax or ArgMin and a Cast.
/// Shapes: [n,...] -> [n,...]; reduced axes are removed, or kept with size 1.
/// Throws: ValueError for an unknown operation, no axes, or several axes of
/// argmax and argmin; ShapeError for the batch axis, an axis out of range, a
/// duplicate, or an output without axes besides the batch.
class Reduce : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit Reduce(const ReduceOptions& options);
};

/// Options of Constant.
/// Fields in order: value, name
struct ConstantOptions {
  /// Required: f32 value per sample, of rank < Shape::kMaxRank: [h,w,c], [t,d],
  /// a scalar, ...
  Tensor value = {};
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Repeats a constant for every sample: a table of anchors, a mask, queries.
///
///   Maximum()({x, Constant({.value = floor})(x)})
///
/// Of its input it uses the number of samples only. Parameter: value, frozen
/// until set_trainable(true), like a buffer in PyTorch. Merging layers
/// broadcast it.
/// Shapes: [n,...] -> [n, dimensions of the value].
/// Throws: ValueError for a missing value or an element type other than f32;
/// ShapeError for a value of rank Shape::kMaxRank or higher.
class Constant : public LayerHandle {
 public:
  /// Checks the value. The first call creates the parameter.
  explicit Constant(const ConstantOptions& options);
};

/// Options of Interpolate.
/// Fields in order: height, width, mode, coordinates, cubic_coefficient, name
struct InterpolateOptions {
  int64_t height = 0;  ///< height of the output, in [1, 2^31); required
  int64_t width = 0;   ///< width of the output, in [1, 2^31); required
  std::string mode = "bilinear";  ///< or "bicubic"
  /// Position of pixel centers (PixelCoordinates): "half_pixel",
  /// "align_corners" (as in PyTorch's Upsample) or "asymmetric".
  std::string coordinates = "half_pixel";
  /// Slope of the bicubic curve, finite; see ResizeOptions.
  float cubic_coefficient = -0.75f;
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Resizes images, as PyTorch's interpolate; see resize2d(). Keras' Resizing
/// equals mode "bilinear" with coordinates "half_pixel".
/// Shapes: [n,h,w,c] -> [n,height,width,c].
/// Throws: ValueError for sizes < 1, an unknown mode, unknown coordinates, or a
/// non-finite cubic_coefficient; ShapeError for inputs other than images.
class Interpolate : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit Interpolate(const InterpolateOptions& options = {});
};

}  // namespace octet
