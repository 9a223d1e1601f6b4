// Augmentation: random transforms of training batches, applied as batches are
// loaded.
//
// The transform of a sample depends on the seed, the epoch and the sample's
// position in the epoch only, not on threads, prefetch or (except for mixup)
// the batch size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <octet/runtime/dataset.h>
#include <octet/runtime/rng.h>

namespace octet::train {

/// The random streams of a transform for the samples of a batch.
class SampleStreams {
 public:
  /// `first` is the position of sample 0 in the epoch, `transform` the index of
  /// the transform in its Augmentation.
  SampleStreams(const Rng& epoch, int64_t first, uint64_t transform)
      : epoch_(epoch), first_(first), transform_(transform) {}

  /// Returns the stream of sample i of the batch.
  Rng operator[](int64_t i) const {
    return epoch_.child(static_cast<uint64_t>(first_ + i)).child(transform_);
  }

 private:
  Rng epoch_;
  int64_t first_;
  uint64_t transform_;
};

/// A random transform of batches; derive a custom transform from it.
/// Thread-safe: several threads may transform different batches at once.
class Transform {
 public:
  virtual ~Transform() = default;
  /// Transforms the batch in place. Input tensors are exclusive to the batch;
  /// label tensors are shared and must be replaced instead of modified. Sample
  /// i must draw from streams[i] only.
  virtual void apply(Batch& batch, const SampleStreams& streams) const = 0;
};

/// Transforms in order of application:
/// `Augmentation{random_flip(), random_crop({.padding = 4})}`.
using Augmentation = std::vector<std::shared_ptr<const Transform>>;

/// Returns a transformed copy of the batch. `epoch` is the random stream of the
/// epoch, `first` the position of sample 0 in the epoch.
/// Throws: ValueError for a null pointer; errors of the transforms.
Batch augment(const Augmentation& augmentation, const Batch& batch,
              const Rng& epoch, int64_t first);

/// Padding of moved images: zeros, or the image mirrored at its border without
/// repeating the border pixel (c b | a b c | b a).
enum class Border { zero, reflect };

/// Fields in order: horizontal, vertical
struct RandomFlipOptions {
  bool horizontal = true;
  bool vertical = false;
};
/// Fields in order: padding, border
struct RandomCropOptions {
  int64_t padding = 4;  ///< rows and columns on every side
  Border border = Border::zero;
};
/// Fields in order: height, width, border
struct RandomShiftOptions {
  float height = 0.1f;  ///< maximum shift, as a share of the height, [0, 1]
  float width = 0.1f;   ///< maximum shift, as a share of the width, [0, 1]
  Border border = Border::zero;
};
/// Fields in order: degrees, border
struct RandomRotationOptions {
  float degrees = 15.0f;  ///< maximum angle in both directions, [0, 180]
  Border border = Border::zero;
};
/// Fields in order: delta, low, high
struct RandomBrightnessOptions {
  float delta = 0.2f;  ///< maximum change in both directions, >= 0
  float low = 0.0f;    ///< results are clamped to [low, high]
  float high = 1.0f;
};
/// Fields in order: factor, low, high
struct RandomContrastOptions {
  float factor = 0.2f;  ///< [0, 1]; the contrast is 1 - factor to 1 + factor
  float low = 0.0f;     ///< results are clamped to [low, high]
  float high = 1.0f;
};
/// Fields in order: size, value
struct CutoutOptions {
  int64_t size = 8;  ///< side of the square in pixels, >= 1
  float value = 0.0f;
};
/// Fields in order: classes, alpha
struct MixupOptions {
  int64_t classes = 0;  ///< number of classes, >= 2; required
  float alpha = 0.2f;   ///< > 0
};

/// Applies a transform to the inputs with the given indices, with the same
/// random numbers for each: both images of a stereo camera flip together.
/// Throws: ValueError without inputs or transform; when applied, for an input
/// index out of range.
std::shared_ptr<const Transform> on_inputs(
    std::vector<size_t> inputs, std::shared_ptr<const Transform> change);

// All transforms except mixup apply to images: the only input of rank 4, f32
// [n,h,w,c]. Geometric transforms also move label maps [n,h,w] and [n,h,w,c] of
// the same height and width: f32 maps like images, i64 class masks by the
// nearest pixel, with class 0 in zero padding. Throws: ValueError for options
// out of range; when applied, ShapeError without images and ValueError for
// several image inputs.

/// Flips images horizontally and, if enabled, vertically, each with probability
/// 1/2.
std::shared_ptr<const Transform> random_flip(
    const RandomFlipOptions& options = {});

/// Pads the image and crops it to its original size at a random position.
/// Border::reflect requires a padding smaller than height and width.
std::shared_ptr<const Transform> random_crop(
    const RandomCropOptions& options = {});

/// Shifts by a random share of the image size, with bilinear interpolation.
std::shared_ptr<const Transform> random_shift(
    const RandomShiftOptions& options = {});

/// Rotates about the center by a random angle, with bilinear interpolation.
std::shared_ptr<const Transform> random_rotation(
    const RandomRotationOptions& options = {});

/// Adds a random number to all values of an image.
std::shared_ptr<const Transform> random_brightness(
    const RandomBrightnessOptions& options = {});

/// Scales the deviations of each channel from its mean in the image.
std::shared_ptr<const Transform> random_contrast(
    const RandomContrastOptions& options = {});

/// Fills a square centered at a random pixel, clipped at the image border.
/// Source: DeVries and Taylor, arXiv 1708.04552.
std::shared_ptr<const Transform> cutout(const CutoutOptions& options = {});

/// Mixes each sample with a random sample of the batch: l x + (1 - l) x', and
/// labels and weights likewise, with l ~ Beta(alpha, alpha) per sample. Inputs
/// of any shape; labels i64 [n] or f32 [n,classes] become f32 [n,classes].
/// Source: Zhang et al., arXiv 1710.09412.
/// Throws: ValueError for classes < 2 or alpha <= 0; when applied, for a label
/// outside [0, classes).
std::shared_ptr<const Transform> mixup(const MixupOptions& options);

}  // namespace octet::train
