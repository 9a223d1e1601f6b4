// Dataset: a source of labelled samples. io makes them, quant calibrates on
// them, train batches them. A Dataset is a cheap handle to an immutable
// source and may be read from several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <octet/runtime/tensor.h>

namespace octet {

struct Batch {
  Tensor inputs;        ///< f32 [n, ...]
  Tensor labels;        ///< classes i64 [n], or targets f32 [n, ...]
  Tensor weights = {};  ///< of the samples in the loss, f32 [n]; empty: all 1
};

/// Where samples come from; implemented per format.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  virtual int64_t size() const = 0;
  /// Shape of one input, without the batch.
  virtual Shape input_shape() const = 0;
  /// i64 for classes, f32 for targets.
  virtual DType label_type() const { return DType::i64; }
  /// Shape of one label, without the batch; [] for classes.
  virtual Shape label_shape() const { return {}; }
  /// The samples at `indices`, all in [0, size()).
  virtual Batch read(std::span<const int64_t> indices) const = 0;
};

class Dataset {
 public:
  /// Throws: ValueError for a null pointer or a size below 0.
  explicit Dataset(std::shared_ptr<const SampleSource> source);
  /// Samples in memory. Shapes: inputs [n, ...] as f32, or as u8 that is
  /// multiplied by `input_scale` when read; labels as i64 [n] (classes) or
  /// f32 [n, ...] (targets: numbers, or shares of classes).
  /// Throws: ShapeError if the counts differ; ValueError for other types.
  Dataset(Tensor inputs, Tensor labels, float input_scale = 1.0f);

  int64_t size() const { return count_; }
  Shape input_shape() const { return source_->input_shape(); }
  DType label_type() const { return source_->label_type(); }
  Shape label_shape() const { return source_->label_shape(); }

  /// Throws: ValueError for an index outside [0, size()).
  Batch batch(std::span<const int64_t> indices) const;
  /// Samples [first, first + count) in order.
  Batch batch(int64_t first, int64_t count) const;

  /// The first `count` samples, or all if there are fewer.
  /// Throws: ValueError for count < 1.
  Dataset take(int64_t count) const;
  /// All but the first `count` samples.
  /// Throws: ValueError unless 0 <= count < size().
  Dataset drop(int64_t count) const;

 private:
  std::shared_ptr<const SampleSource> source_;
  int64_t first_ = 0;
  int64_t count_;
};

}  // namespace octet
