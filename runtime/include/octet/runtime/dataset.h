// Dataset: a source of labelled samples. io makes them, quant calibrates on
// them, train batches them. A Dataset is a cheap handle to an immutable
// source and may be read from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <octet/runtime/batch.h>
#include <octet/runtime/tensor.h>

namespace octet {

/// Where samples come from; implemented per format.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  virtual int64_t size() const = 0;
  /// What read() gives as Batch::inputs, all of f32.
  virtual std::vector<TensorSpec> input_specs() const = 0;
  /// What it gives as Batch::labels: i64 and [] for classes, i64 for one of
  /// each place, f32 for targets.
  virtual std::vector<TensorSpec> label_specs() const {
    return {{.shape = {}, .dtype = DType::i64}};
  }
  /// The samples at `indices`, all in [0, size()).
  virtual Batch read(std::span<const int64_t> indices) const = 0;
  /// The labels of all samples, where they are at hand without reading the
  /// inputs. Shapes: [size(), ...] as label_specs(), or none at all.
  virtual std::vector<Tensor> known_labels() const { return {}; }
};

/// How samples are chosen by chance.
/// Fields in order: seed, stratified
struct SplitOptions {
  uint64_t seed = 0;
  /// Each class has the same share in every part, as nearly as whole samples
  /// allow. For labels that are classes.
  bool stratified = false;
};

class [[nodiscard]] Dataset {
 public:
  /// Throws: ValueError for a null pointer or a size below 0.
  explicit Dataset(std::shared_ptr<const SampleSource> source);
  /// Samples in memory. Shapes: inputs [n, ...] as f32, or as u8 that is
  /// multiplied by `input_scale` when read; labels as i64 [n] (classes),
  /// i64 [n, ...] (one of each place, as in masks) or f32 [n, ...] (targets:
  /// numbers, or shares of classes).
  /// Throws: ShapeError if the counts differ, and for classes [n,1]; ValueError
  /// for other types.
  Dataset(Tensor inputs, Tensor labels, float input_scale = 1.0f);
  /// The same of a model with several inputs or outputs, by their names, which
  /// are those of layers, or all by their place:
  ///   Dataset({{"left", a}, {"right", b}}, {{"same", y}})
  ///   Dataset({a, b}, y)
  Dataset(std::vector<NamedTensor> inputs, std::vector<NamedTensor> labels);
  Dataset(std::vector<NamedTensor> inputs, Tensor label);
  Dataset(Tensor input, std::vector<NamedTensor> labels);
  /// Samples to calibrate on or to predict: `Dataset::unlabelled({x})`.
  static Dataset unlabelled(std::vector<NamedTensor> inputs);

  int64_t size() const { return count_; }
  std::vector<TensorSpec> input_specs() const { return source_->input_specs(); }
  std::vector<TensorSpec> label_specs() const { return source_->label_specs(); }
  /// Of the only input or label. Throws: ValueError for none or several.
  Shape input_shape() const;
  DType label_type() const;
  Shape label_shape() const;

  /// Throws: ValueError for an index outside [0, size()).
  Batch batch(std::span<const int64_t> indices) const;
  /// Samples [first, first + count) in order.
  Batch batch(int64_t first, int64_t count) const;

  /// The first `count` samples, or all if there are fewer. Of data that is
  /// sorted by class they are of one class: see sample().
  /// Throws: ValueError for count < 1.
  Dataset take(int64_t count) const;
  /// All but the first `count` samples.
  /// Throws: ValueError unless 0 <= count < size().
  Dataset drop(int64_t count) const;

  /// All samples in an order that depends on the seed alone.
  Dataset shuffled(uint64_t seed = 0) const;
  /// `count` samples chosen by chance, in order, or all if there are fewer.
  /// Throws: ValueError for count < 1, or stratified without classes.
  Dataset sample(int64_t count, const SplitOptions& options = {}) const;
  /// round(share * size()) samples chosen by chance, and the others, each in
  /// order: `auto [train, validation] = data.split(0.9)`.
  /// Throws: ValueError unless both parts have samples; as sample().
  [[nodiscard]] std::pair<Dataset, Dataset> split(
      double share, const SplitOptions& options = {}) const;

  /// The samples as `function` makes them of these: other inputs, labels or
  /// weights, as many samples. It gets whatever samples are read together, when
  /// they are read, maybe in several threads at once, and must treat each alone
  /// and always alike. Shapes and types are those it gives for the first one.
  /// Names stay where there are as many inputs or labels as before.
  /// Throws: ValueError without a function or samples, or for inputs that are
  /// not f32 and labels that are neither f32 nor i64; what it throws.
  Dataset map(std::function<Batch(Batch)> function) const;
  /// These samples, then those of `other`.
  /// Throws: ShapeError, ValueError where shapes or types differ.
  Dataset concat(const Dataset& other) const;
  /// These samples with weights in the loss, instead of those that they have.
  /// Shapes: f32 [size()], finite and >= 0. Throws: ShapeError, ValueError.
  Dataset with_weights(Tensor weights) const;
  /// Some of the inputs and labels, by their place, in this order.
  /// Throws: ValueError for a place that there is not, or no inputs.
  Dataset select(std::span<const size_t> inputs,
                 std::span<const size_t> labels) const;

  /// The labels of all samples: the only ones. They are read with their inputs
  /// where the source does not have them at hand.
  /// Shapes: -> [size(), ...]. Throws: ValueError for none or several; what the
  /// source does.
  Tensor labels() const;
  /// Whether labels are known without reading inputs.
  bool labels_known() const;
  /// All labels of all samples, if they are; else none.
  std::vector<Tensor> known_labels() const;
  /// All samples of the source that this is a part of.
  Dataset source() const { return Dataset(source_); }

 private:
  std::vector<int64_t> in_source(std::span<const int64_t> indices) const;
  Dataset at(std::span<const int64_t> indices) const;
  std::vector<int64_t> chosen(int64_t count, const SplitOptions& options) const;

  std::shared_ptr<const SampleSource> source_;
  /// Places in the source; none: all of it, in order.
  std::shared_ptr<const std::vector<int64_t>> order_;
  int64_t first_ = 0;  // of that order
  int64_t count_;
};

/// The classes that samples of `whole` have and those of `part` lack, in
/// order; nothing where labels are no classes, several, or not known without
/// reading inputs.
std::vector<int64_t> missing_classes(const Dataset& part, const Dataset& whole);

}  // namespace octet
