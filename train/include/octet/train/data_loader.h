// Batches for training: augmentation, order, one-hot labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

#include <octet/runtime/dataset.h>
#include <octet/runtime/rng.h>

namespace octet::train {

// Augmentation: random transforms of training batches, applied as batches are
// loaded.
//
// The transform of a sample depends on the seed, the epoch and the sample's
// position in the epoch only, not on threads, prefetch or (except for mixup)
// the batch size.

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

/// Options of random_flip().
/// Fields in order: horizontal, vertical
struct RandomFlipOptions {
  bool horizontal = true;  ///< whether to mirror left and right
  bool vertical = false;   ///< whether to mirror top and bottom
};
/// Options of random_crop().
/// Fields in order: padding, border
struct RandomCropOptions {
  int64_t padding = 4;           ///< pixels on every side, [0, 32768]
  Border border = Border::zero;  ///< values outside of the image
};
/// Options of random_shift().
/// Fields in order: height, width, border
struct RandomShiftOptions {
  float height = 0.1f;  ///< maximum shift, as a share of the height, [0, 1]
  float width = 0.1f;   ///< maximum shift, as a share of the width, [0, 1]
  Border border = Border::zero;  ///< values outside of the image
};
/// Options of random_rotation().
/// Fields in order: degrees, border
struct RandomRotationOptions {
  float degrees = 15.0f;         ///< maximum angle in both directions, [0, 180]
  Border border = Border::zero;  ///< values outside of the image
};
/// Options of random_brightness().
/// Fields in order: delta, low, high
struct RandomBrightnessOptions {
  float delta = 0.2f;  ///< maximum change in both directions, >= 0
  float low = 0.0f;    ///< results are clamped to [low, high]
  float high = 1.0f;   ///< >= low
};
/// Options of random_contrast().
/// Fields in order: factor, low, high
struct RandomContrastOptions {
  float factor = 0.2f;  ///< [0, 1]; the contrast is 1 - factor to 1 + factor
  float low = 0.0f;     ///< results are clamped to [low, high]
  float high = 1.0f;    ///< >= low
};
/// Options of cutout().
/// Fields in order: size, value
struct CutoutOptions {
  int64_t size = 8;    ///< side of the square in pixels, >= 1
  float value = 0.0f;  ///< value of all channels inside the square
};
/// Options of mixup().
/// Fields in order: classes, alpha
struct MixupOptions {
  int64_t classes = 0;  ///< number of classes, >= 2; required
  float alpha = 0.2f;   ///< parameter of the Beta distribution, > 0
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

/// Rotates by 0, 90, 180 or 270 degrees, each with probability 1/4, without
/// interpolation. With random_flip(), all eight orientations of an image are
/// equally likely. Requires square images.
std::shared_ptr<const Transform> random_rotation90();

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

// EpochLoader: iterates over a dataset in batches, with shuffling, augmentation
// and optional prefetching by worker threads.

/// Options of a EpochLoader.
/// Fields in order: batch_size, shuffle, seed, epoch, augmentation, prefetch,
/// workers, shards, first_shard, last_shard
struct EpochLoaderOptions {
  int64_t batch_size = 64;  ///< samples per batch, >= 1
  bool shuffle = true;      ///< random order; otherwise the dataset's order
  uint64_t seed = 0;        ///< for shuffling and augmentation
  int64_t epoch = 0;        ///< each epoch has a different order
  /// Random transforms of the batches; null pointers are errors.
  Augmentation augmentation = {};
  /// Number of batches prepared ahead of the current batch, [0, 1024]. 0
  /// prepares each batch in the thread that requests it.
  int64_t prefetch = 0;
  /// Number of prefetch threads, [1, 64]. Each runs its parallel loops
  /// serially.
  int64_t workers = 1;
  /// Number of shards per batch, >= 1; their sizes differ by at most 1. The
  /// loader returns shards [first_shard, last_shard) of each batch in order,
  /// each as a separate batch. Augmentation is applied per shard. If the last
  /// batch has fewer samples than shards, its last shards have no inputs.
  int64_t shards = 1;
  int64_t first_shard = 0;  ///< first returned shard, >= 0
  /// End of the returned shards, in (first_shard, shards]. 0: `shards`.
  int64_t last_shard = 0;
};

/// A range of batches for a for loop. The last batch may be smaller. Order and
/// contents depend on the seed and the epoch only, not on `prefetch` or
/// `workers`.
///
/// With prefetch, each begin() or from() starts threads, which end with the
/// last copy of the iterator; its destructor waits for batches in preparation.
/// Errors of a prefetch thread are thrown when the batch is requested.
/// Throws: ValueError for options out of range.
class EpochLoader {
 public:
  /// Loads epoch `options.epoch` of `data`.
  EpochLoader(Dataset data, const EpochLoaderOptions& options);

  /// Returns the number of batches; here and below, each shard counts as a
  /// batch.
  int64_t batches() const;
  /// Prepares a batch in the calling thread.
  /// Throws: ValueError unless index is in [0, batches()).
  Batch batch(int64_t index) const;

  /// Data, order and random stream of an epoch.
  class Epoch;
  /// Threads that prepare the next batches.
  class Prefetcher;

  /// Position in the batches. Copies share their prefetch threads. Not
  /// thread-safe.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;  ///< single pass
    using value_type = Batch;                ///< a batch or a shard of it
    using difference_type = std::ptrdiff_t;  ///< for std::iterator_traits
    using pointer = const Batch*;            ///< for std::iterator_traits
    using reference = Batch;                 ///< batches are returned by value

    /// Returns the batch: prepares it, or waits until a prefetch thread has
    /// prepared it.
    /// Throws: ValueError at the end; errors of the data source and the
    /// augmentation.
    Batch operator*() const;
    /// Moves to the next batch and releases prefetched earlier batches.
    Iterator& operator++();
    void operator++(int) { ++*this; }
    bool operator==(const Iterator& other) const {
      return index_ == other.index_;
    }

   private:
    friend EpochLoader;
    Iterator(std::shared_ptr<const Epoch> epoch,
             std::shared_ptr<Prefetcher> prefetcher, int64_t index);

    std::shared_ptr<const Epoch> epoch_;
    std::shared_ptr<Prefetcher> prefetcher_;  // may be null
    int64_t index_;
  };
  /// Returns an iterator at the first batch.
  Iterator begin() const;
  /// Returns an iterator at `batch`, in [0, batches()]; earlier batches are not
  /// prepared. Throws: ValueError for a batch out of range.
  Iterator from(int64_t batch) const;
  /// Returns the iterator behind the last batch.
  Iterator end() const;

 private:
  std::shared_ptr<const Epoch> epoch_;
};

// one_hot: converts class indices to one-hot labels.

/// Returns the dataset with one-hot labels f32 [n,...,classes], for
/// losses::categorical_cross_entropy and mixup. Labels are converted as they
/// are read. Throws: ValueError for classes < 1 or labels other than i64; when
/// read, for a label outside [0, classes).
Dataset one_hot(const Dataset& data, int64_t classes);

/// Returns 1 at the class index and 0 elsewhere.
/// Shapes: i64 [n,...] -> f32 [n,...,classes].
/// Throws: ValueError for a label outside [0, classes).
Tensor one_hot(const Tensor& labels, int64_t classes);

// DataLoader: batches of a data set with the names and defaults of
// torch.utils.data.DataLoader.

/// Defaults are PyTorch's: batches of 1 in the order of the data. (EpochLoader
/// shuffles by default, in batches of 64.)
/// Fields in order: batch_size, shuffle, num_workers, drop_last, seed
struct DataLoaderOptions {
  int64_t batch_size = 1;  ///< samples, at least 1
  bool shuffle = false;    ///< another order in each pass over the data
  /// Number of threads that prepare batches, [0, 64], two batches each ahead; 0
  /// prepares them in the thread of the loop.
  int64_t num_workers = 0;
  bool drop_last = false;  ///< drop a last batch of fewer samples
  uint64_t seed = 0;       ///< of the order
};

/// Batches for a range-based for loop:
///
///   DataLoader loader(data, {.batch_size = 64, .shuffle = true});
///   for (const Batch& batch : loader) { ... }
///
/// Each loop is an epoch: with `shuffle`, its order depends on the seed and on
/// the number of loops before. Not thread-safe.
class DataLoader {
 public:
  /// Throws: ValueError for options out of range.
  explicit DataLoader(Dataset data, const DataLoaderOptions& options = {});

  /// Returns the number of batches, PyTorch's len(loader).
  int64_t size() const;
  /// Returns the samples.
  const Dataset& dataset() const { return data_; }

  /// Begins the next epoch. Iterators of the previous epoch stay valid.
  EpochLoader::Iterator begin();
  /// Returns the end of each epoch.
  EpochLoader::Iterator end() const { return end_; }

 private:
  EpochLoader epoch_loader(int64_t epoch) const;

  Dataset data_;
  DataLoaderOptions options_;
  int64_t epochs_ = 0;  // begun
  EpochLoader loader_;
  EpochLoader::Iterator end_;
};

}  // namespace octet::train
