// Data sets: batches of samples, and collections of samples that are read by
// index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <octet/runtime/tensor.h>

namespace octet {

// Batch: samples that are processed together.

/// The inputs and labels of n samples. Most models have a single input and
/// label, which input() and label() return.
struct Batch {
  Batch() = default;
  /// A batch of these tensors, unchecked. An empty `input` or `label` is left
  /// out.
  Batch(Tensor input, Tensor label, Tensor sample_weights = {});
  Batch(std::vector<Tensor> all_inputs, std::vector<Tensor> all_labels,
        Tensor sample_weights = {});

  std::vector<Tensor> inputs;  ///< f32 [n, ...]
  /// Class indices i64 [n] (or [n, ...], one per position), or targets f32 [n,
  /// ...].
  std::vector<Tensor> labels;
  Tensor weights;  ///< sample weights in the loss, f32 [n]; empty: all 1

  /// Number of samples. Throws: ValueError without inputs.
  int64_t size() const;
  /// The single input or label. Throws: ValueError for none or several.
  Tensor& input() &;
  const Tensor& input() const&;
  Tensor input() &&;
  Tensor& label() &;
  const Tensor& label() const&;
  Tensor label() &&;
};

/// Shape, type and name of a tensor of a batch.
struct TensorSpec {
  Shape shape;               ///< of a single sample; [] for a class index
  DType dtype = DType::f32;  ///< element type: f32, or i64 for class indices
  std::string name = {};     ///< model input or output; "": matched by position

  /// Shape of a tensor of n samples: [n, ...]. Throws: ShapeError for rank 8.
  Shape batch_shape(int64_t n) const;

  bool operator==(const TensorSpec&) const = default;
};

/// A tensor of a data set with the name of its model input or output.
struct NamedTensor {
  /// A tensor without a name, or with the name `n`.
  NamedTensor(Tensor t) : tensor(std::move(t)) {}
  NamedTensor(std::string n, Tensor t)
      : name(std::move(n)), tensor(std::move(t)) {}

  std::string name;  ///< model input or output; "": matched by position
  Tensor tensor;     ///< [n, ...], a row per sample
};

// Dataset: labeled samples. io creates data sets, quant calibrates on them,
// train batches them.

/// Origin of samples; implemented per format. Immutable: several threads may
/// call its functions at once.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  /// Number of samples.
  virtual int64_t size() const = 0;
  /// Specs of Batch::inputs as returned by read(), all f32.
  virtual std::vector<TensorSpec> input_specs() const = 0;
  /// Specs of Batch::labels: i64 and [] for class indices, i64 with a shape for
  /// per-position indices, f32 for targets.
  virtual std::vector<TensorSpec> label_specs() const {
    return {{.shape = {}, .dtype = DType::i64}};
  }
  /// Returns the samples at `indices`, all in [0, size()).
  virtual Batch read(std::span<const int64_t> indices) const = 0;
  /// Labels of all samples if available without reading inputs, else none.
  /// Shapes: [size(), ...] as label_specs().
  virtual std::vector<Tensor> known_labels() const { return {}; }
};

/// Random selection of samples.
/// Fields in order: seed, stratified
struct SplitOptions {
  uint64_t seed = 0;  ///< of the random selection
  /// Whether each class has the same share in each part, up to rounding.
  /// Requires class indices as labels.
  bool stratified = false;
};

/// Labeled samples, read by index: all samples of a source or a part of them,
/// in any order. A Dataset is a cheap handle to an immutable source; several
/// threads may read it.
class [[nodiscard]] Dataset {
 public:
  /// Creates a data set of all samples of `source`.
  /// Throws: ValueError for a null pointer or a size below 0.
  explicit Dataset(std::shared_ptr<const SampleSource> source);
  /// Samples in memory. Shapes: inputs [n, ...] as f32, as i32 or i64 (indices,
  /// read as f32), or as u8 that read() multiplies by `input_scale`; labels as
  /// i64 [n] (class indices), i64 [n,
  /// ...] (per-position indices, as in masks) or f32 [n, ...] (targets: values
  /// or class probabilities).
  /// Throws: ShapeError if counts differ, or for class indices [n,1];
  /// ValueError for an empty tensor, other types, integers beyond 2^24, or an
  /// input_scale that is 0, not finite, or other than 1 without u8.
  Dataset(Tensor inputs, Tensor labels, float input_scale = 1.0f);
  /// Samples for a model with several inputs or outputs, matched by layer name,
  /// or all by position:
  ///   Dataset({{"left", a}, {"right", b}}, {{"same", y}})
  ///   Dataset({a, b}, y)
  /// Throws: as above; ValueError if only some inputs or labels have names, or
  /// two have the same.
  Dataset(std::vector<NamedTensor> inputs, std::vector<NamedTensor> labels);
  Dataset(std::vector<NamedTensor> inputs, Tensor label);
  Dataset(Tensor input, std::vector<NamedTensor> labels);
  /// Samples for calibration or prediction: `Dataset::unlabeled({x})`.
  static Dataset unlabeled(std::vector<NamedTensor> inputs);

  /// Number of samples, and the inputs and labels of a sample.
  int64_t size() const { return count_; }
  std::vector<TensorSpec> input_specs() const { return source_->input_specs(); }
  std::vector<TensorSpec> label_specs() const { return source_->label_specs(); }
  /// Shape or type of the single input or label.
  /// Throws: ValueError for none or several.
  Shape input_shape() const;
  DType label_type() const;
  Shape label_shape() const;

  /// Returns a batch of the samples with these indices.
  /// Throws: ValueError for an index outside [0, size()).
  Batch batch(std::span<const int64_t> indices) const;
  /// Samples [first, first + count) in order.
  /// Throws: ValueError if out of range.
  Batch batch(int64_t first, int64_t count) const;

  /// The first `count` samples, or all if there are fewer. In data sorted by
  /// class they share a class: see sample().
  /// Throws: ValueError for count < 1.
  Dataset take(int64_t count) const;
  /// All but the first `count` samples.
  /// Throws: ValueError unless 0 <= count < size().
  Dataset drop(int64_t count) const;

  /// All samples in a random order determined by the seed.
  Dataset shuffled(uint64_t seed = 0) const;
  /// `count` random samples in their original order, or all if there are fewer.
  /// Throws: ValueError for count < 1, or stratified without classes.
  Dataset sample(int64_t count, const SplitOptions& options = {}) const;
  /// Holds out a random share of the samples, as Keras' validation_split and
  /// scikit-learn's test_size. Returns round((1 - share) * size()) samples and
  /// then the held-out rest, each in original order:
  /// `auto [train, validation] = data.hold_out(0.1)`.
  /// Throws: ValueError unless both parts have samples; as sample().
  [[nodiscard]] std::pair<Dataset, Dataset> hold_out(
      double share, const SplitOptions& options = {}) const;

  /// Samples transformed by `function`, which may replace inputs, labels and
  /// weights but not the number of samples. It is called at read time on the
  /// samples of a batch, possibly by several threads at once; it must be
  /// deterministic and treat samples independently. Shapes and types are taken
  /// from a call on the first sample. Names persist if the number of inputs or
  /// labels does.
  /// Throws: ValueError without a function or samples, for inputs other than
  /// f32 or labels other than f32 and i64; errors of `function`.
  Dataset map(std::function<Batch(Batch)> function) const;
  /// These samples followed by those of `other`.
  /// Throws: ShapeError, ValueError if shapes or types differ.
  Dataset concat(const Dataset& other) const;
  /// The samples with new weights in the loss.
  /// Shapes: f32 [size()], finite and >= 0. Throws: ShapeError, ValueError.
  Dataset with_weights(Tensor weights) const;
  /// The inputs and labels at the given positions, in that order.
  /// Throws: ValueError for a position out of range, or without inputs.
  Dataset select(std::span<const size_t> inputs,
                 std::span<const size_t> labels) const;

  /// The single label of all samples. Reads the inputs too if the source does
  /// not know the labels.
  /// Shapes: -> [size(), ...]. Throws: ValueError for none or several; errors
  /// of the source.
  Tensor labels() const;
  /// Whether labels are available without reading inputs.
  bool labels_known() const;
  /// All labels of all samples if labels_known(), else none.
  std::vector<Tensor> known_labels() const;
  /// The whole source that these samples are taken from.
  Dataset source() const { return Dataset(source_); }

 private:
  std::vector<int64_t> in_source(std::span<const int64_t> indices) const;
  Dataset at(std::span<const int64_t> indices) const;
  std::vector<int64_t> chosen(int64_t count, const SplitOptions& options) const;

  std::shared_ptr<const SampleSource> source_;
  /// Indices into the source; null: all samples, in order.
  std::shared_ptr<const std::vector<int64_t>> order_;
  int64_t first_ = 0;  // in order_
  int64_t count_;
};

/// Classes of `whole` that `part` lacks, ascending. Empty if labels are not
/// class indices, are several, or are not known without reading inputs.
std::vector<int64_t> missing_classes(const Dataset& part, const Dataset& whole);

}  // namespace octet
