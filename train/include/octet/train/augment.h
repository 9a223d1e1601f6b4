// Augmentation: random changes of training batches, made as they are read.
//
// What happens to a sample is a function of the seed, the epoch and its place
// in the epoch's order, and of nothing else: neither of threads, nor of
// prefetch, nor (mixup apart) of the batch size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <octet/runtime/dataset.h>
#include <octet/runtime/rng.h>

namespace octet::train {

/// The random streams of one transform for the samples of one batch.
class SampleStreams {
 public:
  /// Sample i of the batch is the `first` + i-th of its epoch; `transform` is
  /// the place in the list of transforms.
  SampleStreams(const Rng& epoch, int64_t first, uint64_t transform)
      : epoch_(epoch), first_(first), transform_(transform) {}

  /// The stream of sample i of the batch.
  Rng operator[](int64_t i) const {
    return epoch_.child(static_cast<uint64_t>(first_ + i)).child(transform_);
  }

 private:
  Rng epoch_;
  int64_t first_;
  uint64_t transform_;
};

/// One random change; derive from it for a custom one. Called from one
/// thread or several at once, each with another batch.
class Transform {
 public:
  virtual ~Transform() = default;
  /// Changes the batch in place: its inputs are its own, its labels are
  /// shared and may be replaced. Sample i draws from streams[i] alone.
  virtual void apply(Batch& batch, const SampleStreams& streams) const = 0;
};

/// Transforms in the order in which they are applied:
/// `Augmentation{random_flip(), random_crop({.padding = 4})}`.
using Augmentation = std::vector<std::shared_ptr<const Transform>>;

/// The batch after all transforms; the one given stays as it is. `epoch` is
/// the stream of the epoch, `first` the place of sample 0 in its order.
/// Throws: ValueError for a null pointer; what the transforms throw.
Batch augment(const Augmentation& augmentation, const Batch& batch,
              const Rng& epoch, int64_t first);

/// What stands where a moved image leaves a gap: zeros, or the image mirrored
/// at its border without repeating it (c b | a b c | b a).
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
  float height = 0.1f;  ///< the largest shift, as a share of the height
  float width = 0.1f;
  Border border = Border::zero;
};
/// Fields in order: degrees, border
struct RandomRotationOptions {
  float degrees = 15.0f;  ///< the largest angle either way, [0, 180]
  Border border = Border::zero;
};
/// Fields in order: delta, low, high
struct RandomBrightnessOptions {
  float delta = 0.2f;  ///< the largest change either way
  float low = 0.0f;    ///< the range that values are cut to
  float high = 1.0f;
};
/// Fields in order: factor, low, high
struct RandomContrastOptions {
  float factor = 0.2f;  ///< [0, 1]; the contrast is 1 - factor to 1 + factor
  float low = 0.0f;     ///< the range that values are cut to
  float high = 1.0f;
};
/// Fields in order: size, value
struct CutoutOptions {
  int64_t size = 8;  ///< side of the square
  float value = 0.0f;
};
/// Fields in order: classes, alpha
struct MixupOptions {
  int64_t classes = 0;  ///< must be given
  float alpha = 0.2f;
};

/// The transform on some of a batch's inputs alone, by their place, with the
/// same random numbers for each: both eyes of a stereo camera flip together.
/// Throws: ValueError without inputs or transform, here, and for an input there
/// is not, when applied.
std::shared_ptr<const Transform> on_inputs(
    std::vector<size_t> inputs, std::shared_ptr<const Transform> change);

// All but mixup take images: the only input of rank 4. Those that move images
// move labels [n,h,w] and [n,h,w,c] of the same size with them: masks of
// numbers (f32) as images, masks of classes (i64) by the nearest pixel, with
// class 0 where nothing was. Shapes: f32 [n,h,w,c]. Throws: ValueError for
// options out of range, here; ShapeError for other inputs and ValueError for
// several, when applied.

/// Mirrors left and right, and top and bottom if wanted, each for half of the
/// images.
std::shared_ptr<const Transform> random_flip(
    const RandomFlipOptions& options = {});

/// Pads and cuts an image of the old size out at a random place. Reflection
/// needs padding below height and width.
std::shared_ptr<const Transform> random_crop(
    const RandomCropOptions& options = {});

/// Moves by a random share of the size, between pixels too: bilinear.
std::shared_ptr<const Transform> random_shift(
    const RandomShiftOptions& options = {});

/// Turns about the centre by a random angle: bilinear.
std::shared_ptr<const Transform> random_rotation(
    const RandomRotationOptions& options = {});

/// Adds one random number to all values of an image.
std::shared_ptr<const Transform> random_brightness(
    const RandomBrightnessOptions& options = {});

/// Spreads the values of each channel about its mean in the image.
std::shared_ptr<const Transform> random_contrast(
    const RandomContrastOptions& options = {});

/// Fills a square about a random pixel; what lies outside is cut off.
/// Source: DeVries and Taylor, arXiv 1708.04552.
std::shared_ptr<const Transform> cutout(const CutoutOptions& options = {});

/// Mixes each sample with another of the batch: l x + (1 - l) x', and labels
/// and weights alike, l from Beta(alpha, alpha) for each sample. Inputs of any
/// shape; labels i64 [n] or f32 [n,classes] become f32 [n,classes].
/// Source: Zhang et al., arXiv 1710.09412.
/// Throws: ValueError for classes < 2 or alpha <= 0, here, and for a label
/// outside [0, classes), when applied.
std::shared_ptr<const Transform> mixup(const MixupOptions& options);

}  // namespace octet::train
