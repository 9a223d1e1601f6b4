// Layers with an effect in training only.
#pragma once

#include <vector>

#include <octet/layers/graph.h>

namespace octet {

/// Options of Dropout.
/// Fields in order: rate, noise_shape, name
struct DropoutOptions {
  float rate = 0.5f;  ///< fraction of elements dropped, in [0,1)
  /// Shape of the random mask, which broadcasts to the input: {-1,1,1,1} drops
  /// whole images. -1 stands for the input's own size; empty draws every
  /// element independently.
  std::vector<int64_t> noise_shape = {};
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// In training, sets elements to zero at random and scales the others by 1 / (1
/// - rate); identity in inference. Each call in each pass draws from a separate
/// random stream, so the model's seed reproduces a run.
/// Throws: ValueError for a rate outside [0,1); ShapeError for a noise shape of
/// another rank than the input's or with sizes other than 1 and the input's.
class Dropout : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit Dropout(const DropoutOptions& options = {});
};

/// Options of SpatialDropout1D.
/// Fields in order: rate, name
struct SpatialDropout1DOptions {
  float rate = 0.5f;      ///< fraction of channels dropped, in [0,1)
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Drops whole channels of sequences, as Dropout.
/// Shapes: [n,l,c] -> [n,l,c].
/// Throws: ValueError for a rate outside [0,1); ShapeError for inputs other
/// than sequences.
class SpatialDropout1D : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit SpatialDropout1D(const SpatialDropout1DOptions& options = {});
};

/// Options of SpatialDropout2D.
/// Fields in order: rate, name
struct SpatialDropout2DOptions {
  float rate = 0.5f;      ///< fraction of channels dropped, in [0,1)
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Drops whole channels of images, as Dropout.
/// Shapes: [n,h,w,c] -> [n,h,w,c].
/// Throws: ValueError for a rate outside [0,1); ShapeError for inputs other
/// than images.
class SpatialDropout2D : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit SpatialDropout2D(const SpatialDropout2DOptions& options = {});
};

/// Options of AlphaDropout.
/// Fields in order: rate, noise_shape, name
struct AlphaDropoutOptions {
  float rate = 0.5f;  ///< fraction of elements replaced, in [0,1)
  std::vector<int64_t> noise_shape = {};  ///< see DropoutOptions
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Dropout for networks with SELU. In training each element is set to SELU's
/// lower limit, -1.7581, with probability `rate`; all elements are then scaled
/// and shifted to preserve mean and variance. Identity in inference. Random
/// streams as in Dropout.
/// Throws: ValueError for a rate outside [0,1); ShapeError as Dropout.
/// Source: Klambauer et al. 2017, Self-Normalizing Neural Networks.
class AlphaDropout : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit AlphaDropout(const AlphaDropoutOptions& options = {});
};

/// Options of GaussianDropout.
/// Fields in order: rate, name
struct GaussianDropoutOptions {
  float rate = 0.5f;  ///< in [0,1): the noise has variance rate / (1 - rate)
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// In training, multiplies each element by normal noise of mean 1 and variance
/// rate / (1 - rate); identity in inference. Random streams as in Dropout.
/// Throws: ValueError for a rate outside [0,1).
class GaussianDropout : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit GaussianDropout(const GaussianDropoutOptions& options = {});
};

/// Options of GaussianNoise.
/// Fields in order: stddev, name
struct GaussianNoiseOptions {
  float stddev = 1;       ///< standard deviation of the noise, >= 0 and finite
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// In training, adds normal noise of mean 0; identity in inference. Random
/// streams as in Dropout.
/// Throws: ValueError unless stddev is finite and >= 0.
class GaussianNoise : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit GaussianNoise(const GaussianNoiseOptions& options = {});
};

/// Options of ActivityRegularization.
/// Fields in order: l1, l2, name
struct ActivityRegularizationOptions {
  float l1 = 0;           ///< factor of the sum of |x|, >= 0 and finite
  float l2 = 0;           ///< factor of the sum of x^2, >= 0 and finite
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Returns x unchanged and, in training, adds (l1 * sum |x| + l2 * sum x^2) / n
/// to the loss, n being the batch size.
/// Source: Keras 3, Layer.__call__ with an activity_regularizer.
/// Throws: ValueError for a negative or non-finite factor.
class ActivityRegularization : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit ActivityRegularization(
      const ActivityRegularizationOptions& options = {});
};

}  // namespace octet
