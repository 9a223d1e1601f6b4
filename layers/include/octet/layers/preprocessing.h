// Preprocessing of images and features inside a model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <octet/layers/graph.h>
#include <octet/runtime/dataset.h>

namespace octet {

/// Fields in order: axis, mean, variance, invert, name
struct NormalizationOptions {
  /// Axes with separate statistics; empty: one mean for all elements.
  std::vector<int64_t> axis{-1};
  std::vector<float> mean = {};      ///< empty: set by adapt()
  std::vector<float> variance = {};  ///< empty: set by adapt()
  bool invert = false;               ///< computes mean + x * deviation
  std::string name = "";
};

/// Computes (x - mean) / deviation, the deviation being the square root of the
/// variance, at least 1e-7. Without given statistics, mean and variance are
/// non-trainable parameters with the sizes of the axes, initially 0 and 1, set
/// by adapt() or a file.
/// Throws: ValueError for the batch axis, an axis out of range, one of mean and
/// variance without the other, or a negative variance; ShapeError for a list
/// whose length is neither 1 nor the number of statistics.
class Normalization : public LayerHandle {
 public:
  explicit Normalization(const NormalizationOptions& options = {});

  /// Sets mean and (biased) variance from data, before or after the layer is
  /// called. Shapes: data [n,...].
  /// Throws: ValueError if the statistics were given or the data is empty;
  /// ShapeError for samples of another shape.
  void adapt(const Dataset& data) const;
  void adapt(const Tensor& data) const;
};

/// Fields in order: scale, offset, name
struct RescalingOptions {
  std::vector<float> scale{1};   ///< one number, or one per channel
  std::vector<float> offset{0};  ///< the same
  std::string name = "";
};

/// Computes x * scale + offset.
/// Throws: ValueError for empty lists or non-finite numbers; ShapeError for a
/// list of a length other than 1 or that of the last axis.
class Rescaling : public LayerHandle {
 public:
  explicit Rescaling(const RescalingOptions& options = {});
};

/// Fields in order: height, width, interpolation, crop_to_aspect_ratio,
/// pad_to_aspect_ratio, fill_value, name
struct ResizingOptions {
  int64_t height = 0;
  int64_t width = 0;
  std::string interpolation = "bilinear";  ///< or "nearest"
  /// Preserves the aspect ratio: crops the center of the image, or pads it with
  /// fill_value. At most one may be set.
  bool crop_to_aspect_ratio = false;
  bool pad_to_aspect_ratio = false;
  float fill_value = 0;
  std::string name = "";
};

/// Resizes images; see resize2d(). Shrinking is not antialiased: use a smaller
/// size when loading images (io::ImageFolder), which is.
/// Shapes: [n,h,w,c] -> [n,height,width,c].
/// Throws: ValueError for sizes < 1, an unknown interpolation, or both aspect
/// ratio options; ShapeError for inputs other than images.
class Resizing : public LayerHandle {
 public:
  explicit Resizing(const ResizingOptions& options = {});
};

/// Fields in order: height, width, name
struct CenterCropOptions {
  int64_t height = 0;
  int64_t width = 0;
  std::string name = "";
};

/// Crops the center of each image. Images smaller than the target are cropped
/// to its aspect ratio and enlarged, as by Resizing with crop_to_aspect_ratio.
/// Shapes: [n,h,w,c] -> [n,height,width,c].
/// Throws: ValueError for sizes < 1; ShapeError for inputs other than images.
class CenterCrop : public LayerHandle {
 public:
  explicit CenterCrop(const CenterCropOptions& options = {});
};

/// Fields in order: height, width, mode, coordinates, cubic_coefficient, name
struct InterpolateOptions {
  int64_t height = 0;
  int64_t width = 0;
  std::string mode = "bilinear";  ///< or "bicubic"
  /// Position of pixel centers (PixelCoordinates): "half_pixel",
  /// "align_corners" (as in PyTorch's Upsample) or "asymmetric".
  std::string coordinates = "half_pixel";
  /// For bicubic, see ResizeOptions.
  float cubic_coefficient = -0.75f;
  std::string name = "";
};

/// Resizes images, as PyTorch's interpolate; see resize2d(). Keras' Resizing
/// equals mode "bilinear" with coordinates "half_pixel".
/// Shapes: [n,h,w,c] -> [n,height,width,c].
/// Throws: ValueError for sizes < 1, an unknown mode or unknown coordinates;
/// ShapeError for inputs other than images.
class Interpolate : public LayerHandle {
 public:
  explicit Interpolate(const InterpolateOptions& options = {});
};

}  // namespace octet
