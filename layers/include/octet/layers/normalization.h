// Normalization over batches, groups, layers and channels.
#pragma once

#include <vector>

#include <octet/layers/graph.h>

namespace octet {

/// Options of BatchNormalization.
/// Fields in order: momentum, epsilon, center, scale, beta_initializer,
/// gamma_initializer, beta_regularizer, gamma_regularizer, name
struct BatchNormalizationOptions {
  float momentum = 0.99f;  ///< weight of the old statistics, in [0,1]
  float epsilon = 1e-3f;   ///< added to the variance, > 0 and finite
  bool center = true;      ///< adds beta, a learned offset per channel
  bool scale = true;  ///< multiplies by gamma, a learned factor per channel
  Initializer beta_initializer = zeros();  ///< initial beta values
  Initializer gamma_initializer = ones();  ///< initial gamma values
  Regularizer beta_regularizer = {};       ///< penalty on beta; {}: none
  Regularizer gamma_regularizer = {};      ///< penalty on gamma; {}: none
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Batch normalization over the last axis, as in Keras. Parameters, all [c]:
/// gamma (if `scale`), beta (if `center`), moving_mean, moving_variance. In
/// training it normalizes by the batch statistics and updates the moving
/// statistics, unless these are frozen (Layer::freeze_statistics).
/// Throws: ValueError for momentum outside [0,1] or epsilon <= 0; ShapeError
/// for rank < 2.
class BatchNormalization : public LayerHandle {
 public:
  /// Checks the options. The first call creates the parameters.
  explicit BatchNormalization(const BatchNormalizationOptions& options = {});
};

/// Options of LayerNormalization.
/// Fields in order: axis, epsilon, center, scale, beta_initializer,
/// gamma_initializer, beta_regularizer, gamma_regularizer, name
struct LayerNormalizationOptions {
  /// Normalized axis: only the last, -1 or rank - 1.
  std::vector<int64_t> axis = {-1};
  float epsilon = 1e-3f;  ///< added to the variance, > 0 and finite
  bool center = true;     ///< adds beta, a learned offset per channel
  bool scale = true;      ///< multiplies by gamma, a learned factor per channel
  Initializer beta_initializer = zeros();  ///< initial beta values
  Initializer gamma_initializer = ones();  ///< initial gamma values
  Regularizer beta_regularizer = {};       ///< penalty on beta; {}: none
  Regularizer gamma_regularizer = {};      ///< penalty on gamma; {}: none
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Normalizes each row or pixel over the last axis by its mean and biased
/// variance, as in Keras. Parameters: gamma [c] (ones) if `scale`, beta [c]
/// (zeros) if `center`.
/// Shapes: [n,...,c] -> [n,...,c].
/// Throws: ValueError for an epsilon <= 0; UnsupportedError for an axis other
/// than the last; ShapeError for rank < 2.
class LayerNormalization : public LayerHandle {
 public:
  /// Checks the options. The first call creates the parameters.
  explicit LayerNormalization(const LayerNormalizationOptions& options = {});
};

/// Options of GroupNormalization.
/// Fields in order: groups, axis, epsilon, center, scale, beta_initializer,
/// gamma_initializer, beta_regularizer, gamma_regularizer, name
struct GroupNormalizationOptions {
  /// Number of groups; divides the channels. -1: one group per channel
  /// (instance normalization).
  int64_t groups = 32;
  /// Channel axis: only the last, -1 or rank - 1.
  std::vector<int64_t> axis = {-1};
  float epsilon = 1e-3f;  ///< added to the variance, > 0 and finite
  bool center = true;     ///< adds beta, a learned offset per channel
  bool scale = true;      ///< multiplies by gamma, a learned factor per channel
  Initializer beta_initializer = zeros();  ///< initial beta values
  Initializer gamma_initializer = ones();  ///< initial gamma values
  Regularizer beta_regularizer = {};       ///< penalty on beta; {}: none
  Regularizer gamma_regularizer = {};      ///< penalty on gamma; {}: none
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Normalizes each group of adjacent channels of a sample by its mean and
/// biased variance over all pixels or steps. Parameters: gamma [c] (ones) if
/// `scale`, beta [c] (zeros) if `center`.
/// Shapes: [n,...,c] -> [n,...,c], rank 2 to 4.
/// Throws: ValueError for groups < 1 other than -1, or an epsilon <= 0;
/// UnsupportedError for an axis other than the last; ShapeError for rank < 2 or
/// > 4, or groups that do not divide the channels.
/// Source: Wu and He 2018, arXiv 1803.08494, eq. 7.
class GroupNormalization : public LayerHandle {
 public:
  /// Checks the options. The first call creates the parameters.
  explicit GroupNormalization(const GroupNormalizationOptions& options = {});
};

/// Options of RMSNormalization.
/// Fields in order: axis, epsilon, name
struct RMSNormalizationOptions {
  /// Normalized axis: only the last, -1 or rank - 1.
  std::vector<int64_t> axis = {-1};
  float epsilon = 1e-6f;  ///< added to the mean square, > 0 and finite
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Computes scale * x / sqrt(mean(x^2) + epsilon) over the last axis.
/// Parameters: scale [c] (ones).
/// Shapes: [n,...,c] -> [n,...,c].
/// Throws: ValueError for an epsilon <= 0; UnsupportedError for an axis other
/// than the last; ShapeError for rank < 2.
/// Source: Zhang and Sennrich 2019, arXiv 1910.07467, eq. 4.
class RMSNormalization : public LayerHandle {
 public:
  /// Checks the options. The first call creates the parameters.
  explicit RMSNormalization(const RMSNormalizationOptions& options = {});
};

/// Options of UnitNormalization.
/// Fields in order: axis, epsilon, name
struct UnitNormalizationOptions {
  /// Axes of the norm, not the batch (0); negative ones count from the end.
  std::vector<int64_t> axis = {-1};
  float epsilon = 1e-12f;  ///< minimum divisor, in [1e-18, 1]; 1e-12 in Keras
  std::string name = "";   ///< unique in a model; empty: from the class name
};

/// Computes x / max(|x|, epsilon), |x| being the Euclidean norm over the axes.
/// Shapes: [n,...] -> [n,...].
/// Throws: ValueError for no axes, the batch axis, a duplicate axis, or an
/// epsilon outside [1e-18, 1]; ShapeError for an axis out of range.
class UnitNormalization : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit UnitNormalization(const UnitNormalizationOptions& options = {});
};

/// Options of LocalResponseNormalization.
/// Fields in order: size, alpha, beta, bias, name
struct LocalResponseNormalizationOptions {
  int64_t size = 5;       ///< channels per window, odd, in [1, 2^31)
  float alpha = 1e-4f;    ///< weight of the squares, >= 0 and finite
  float beta = 0.75f;     ///< exponent of the divisor, finite
  float bias = 1;         ///< offset of the divisor, > 0 and finite
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Computes x / (bias + alpha / size * s)^beta, s being the sum of squares over
/// the window of `size` channels centered on x, clipped at the first and last
/// channel.
/// Shapes: [n,h,w,c] -> [n,h,w,c].
/// Throws: ValueError for an even size or size < 1, bias <= 0, alpha < 0, or a
/// number that is not finite; ShapeError for inputs other than images.
/// Source: Krizhevsky et al. 2012, section 3.3; ONNX LRN-13, which divides
/// alpha by the size.
class LocalResponseNormalization : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit LocalResponseNormalization(
      const LocalResponseNormalizationOptions& options = {});
};

/// Options of LayerScale.
/// Fields in order: init_values, projection_dim, name
struct LayerScaleOptions {
  float init_values = 1e-6f;   ///< initial factor of every channel, finite
  int64_t projection_dim = 0;  ///< expected channels; 0: not checked
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Computes gamma * x with a factor per channel, as at the end of a residual
/// branch of ConvNeXt. Parameters: gamma [c] (init_values).
/// Shapes: [n,...,c] -> [n,...,c].
/// Throws: ValueError for a non-finite init_values; ShapeError for a number of
/// channels other than projection_dim, or rank < 2.
/// Source: Touvron et al. 2021, arXiv 2103.17239, section 2.
class LayerScale : public LayerHandle {
 public:
  /// Checks the options. The first call creates the parameters.
  explicit LayerScale(const LayerScaleOptions& options = {});
};

}  // namespace octet
