// Preprocessing of images and features inside a model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <octet/layers/graph.h>
#include <octet/runtime/dataset.h>

namespace octet {

/// Options of Normalization.
/// Fields in order: axis, mean, variance, invert, name
struct NormalizationOptions {
  /// Axes with separate statistics, other than the batch (0); empty: one mean
  /// and variance for all elements. Negative axes count from the end.
  std::vector<int64_t> axis{-1};
  /// One number, or one per statistic, finite. Empty: set by adapt().
  std::vector<float> mean = {};
  /// As many numbers as `mean`, each >= 0. Empty: set by adapt().
  std::vector<float> variance = {};
  bool invert = false;    ///< computes mean + x * deviation instead
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Computes (x - mean) / deviation, the deviation being the square root of the
/// variance, at least 1e-7. Without given statistics, mean and variance are
/// non-trainable parameters with the sizes of the axes, initially 0 and 1, set
/// by adapt() or a file; a third parameter, count, is the number of samples.
/// Throws: ValueError for the batch axis, an axis out of range, mean and
/// variance of different lengths, a negative variance, or a number that is not
/// finite; ShapeError for a list whose length is neither 1 nor the number of
/// statistics.
class Normalization : public LayerHandle {
 public:
  /// Checks the options. The first call creates the parameters.
  explicit Normalization(const NormalizationOptions& options = {});

  /// Sets mean and (biased) variance from data, before or after the layer is
  /// called. Shapes: data [n,...].
  /// Throws: ValueError if the statistics were given or the data is empty;
  /// ShapeError for samples of another shape, or for a tensor of rank < 2.
  void adapt(const Dataset& data) const;
  void adapt(const Tensor& data) const;
};

/// Options of Rescaling.
/// Fields in order: scale, offset, name
struct RescalingOptions {
  std::vector<float> scale{1};   ///< one number except 0, or one per channel
  std::vector<float> offset{0};  ///< one number, or one per channel
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Computes x * scale + offset.
/// Throws: ValueError for empty lists, non-finite numbers or a single scale of
/// 0; ShapeError for a list of a length other than 1 or that of the last axis.
class Rescaling : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit Rescaling(const RescalingOptions& options = {});
};

/// Options of Resizing.
/// Fields in order: height, width, interpolation, crop_to_aspect_ratio,
/// pad_to_aspect_ratio, fill_value, name
struct ResizingOptions {
  int64_t height = 0;  ///< height of the output, in [1, 2^31); required
  int64_t width = 0;   ///< width of the output, in [1, 2^31); required
  std::string interpolation = "bilinear";  ///< or "nearest"
  /// Crops the center of the image to the target's aspect ratio before
  /// resizing.
  bool crop_to_aspect_ratio = false;
  /// Pads the image with fill_value to the target's aspect ratio before
  /// resizing. Excludes crop_to_aspect_ratio.
  bool pad_to_aspect_ratio = false;
  /// Value of pixels added by pad_to_aspect_ratio, finite.
  float fill_value = 0;
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Resizes images; see resize2d(). Shrinking is not antialiased: use a smaller
/// size when loading images (io::ImageFolder), which is.
/// Shapes: [n,h,w,c] -> [n,height,width,c].
/// Throws: ValueError for sizes < 1, an unknown interpolation, both aspect
/// ratio options, or a non-finite fill_value; ShapeError for inputs other than
/// images.
class Resizing : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit Resizing(const ResizingOptions& options = {});
};

/// Options of CenterCrop.
/// Fields in order: height, width, name
struct CenterCropOptions {
  int64_t height = 0;     ///< height of the output, in [1, 2^31); required
  int64_t width = 0;      ///< width of the output, in [1, 2^31); required
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Crops the center of each image. Images smaller than the target are cropped
/// to its aspect ratio and enlarged, as by Resizing with crop_to_aspect_ratio.
/// Shapes: [n,h,w,c] -> [n,height,width,c].
/// Throws: ValueError for sizes < 1; ShapeError for inputs other than images.
class CenterCrop : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit CenterCrop(const CenterCropOptions& options = {});
};

}  // namespace octet
