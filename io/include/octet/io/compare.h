// Two models value by value: where their answers part, and at which layer.
//
//   const auto a = io::TracedModel(io::load_keras("model.h5"));
//   const auto b = io::TracedModel::from_onnx("int8.onnx");
//   const io::Comparison result = io::compare_models(a, b, x);
//   for (const auto& layer : result.by_noise()) ...  // the culprit first
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <octet/io/file_limits.h>
#include <octet/io/onnx.h>
#include <octet/io/onnx_interface.h>
#include <octet/layers/model.h>
#include <octet/runtime/config.h>
#include <octet/runtime/tensor.h>

namespace octet::io {

/// The grid that a file rounds a value to where it is read: codes are
/// round(value / scale) + zero_point, within [lowest, highest].
struct CodeGrid {
  float scale = 1;
  float zero_point = 0;
  float lowest = -128;
  float highest = 127;
  /// Nothing reads the value but these codes, the lowest of which is zero's: a
  /// quantizer may have left out a ReLU in front, so values are compared behind
  /// one (behind ReLU6, where the codes end at 6).
  bool rectifies = false;

  bool operator==(const CodeGrid&) const = default;
};

/// A value on the way from the input to the outputs.
struct TracedValue {
  std::string name;  ///< its layer's, without a wrapper, or its node's
  std::string op;
  std::vector<size_t> reads;  ///< the values that it is made of
  std::optional<CodeGrid> grid = {};
};

/// A model with one input, run so that all its values are seen. Copies share
/// it; run() may be called from several threads at once.
class TracedModel {
 public:
  /// With the interface of the ONNX file that the model was imported from, its
  /// input and outputs have the file's axis order; without one, channels last.
  /// Throws: UnsupportedError for a model of several inputs; ValueError for an
  /// interface that does not fit.
  explicit TracedModel(Model model, const OnnxInterface& interface = {});
  /// A file as the standard's reference runs it (onnx_model.h), node by node.
  /// Throws: as load_onnx_reference(); UnsupportedError for a file with several
  /// inputs, one without a batch dimension, or one of another type than
  /// is_port_type() allows.
  static TracedModel from_onnx(const std::filesystem::path& path,
                               const FileLimits& limits = {});
  /// The same for a file's contents.
  static TracedModel from_onnx_bytes(const std::string& bytes,
                                     const FileLimits& limits = {});

  /// In the order of the graph; the first is the input. Of an ONNX file those
  /// that are float32 and no Q or DQ; a pair is seen as the value before it.
  const std::vector<TracedValue>& values() const;
  const std::vector<size_t>& outputs() const;
  /// Whether values between layers are [n,c,h,w], as in ONNX, not [n,h,w,c].
  bool channels_first() const;
  /// The same of the input; nothing if the file does not say.
  std::optional<bool> input_channels_first() const;
  /// Whether input and outputs have the axis order of a file.
  bool is_file() const;
  /// [n,...]; Shape::kAnySize where it is open.
  Shape input_shape() const;
  /// One tensor of float32 for each of values().
  /// Throws: as Model::run() or OnnxModel::predict().
  std::vector<Tensor> run(const Tensor& x) const;

 private:
  struct Body;
  explicit TracedModel(std::shared_ptr<const Body> body);
  std::shared_ptr<const Body> body_;
};

/// A value that both models have.
struct ValueDifference {
  std::string name;
  std::string op;  ///< of the first model
  int64_t elements = 0;
  double max_error = 0;  ///< largest |b - a|
  double largest = 0;    ///< largest |a|
  /// Power of b - a as a share of that of a: 0 where they are equal, NaN where
  /// a value is not a number in one alone.
  double noise = 0;
  /// The largest such share among what it is made of.
  double noise_read = 0;
  int64_t codes = 0;  ///< elements that a grid rounds
  int64_t flips = 0;  ///< of these, those that come to another code
  bool is_output = false;

  /// In decibels; infinity where nothing differs.
  double sqnr() const;
  /// What the layer adds to the noise that it reads, >= 0.
  double added_noise() const;
};

struct Comparison {
  int64_t samples = 0;
  std::vector<ValueDifference> values = {};  ///< in the order of a
  int64_t only_in_a = 0;  ///< values that the other model has no match for
  int64_t only_in_b = 0;
  /// Share of samples whose first output has its largest score, [n,classes], at
  /// the same class.
  std::optional<double> agreement = {};
  std::optional<double> accuracy_a = {};  ///< with labels
  std::optional<double> accuracy_b = {};

  /// values by added noise, the largest first.
  std::vector<ValueDifference> by_noise() const;
  /// The least of the outputs.
  double output_sqnr() const;
  /// Of all grids together: flips / codes; 0 without codes.
  double flip_share() const;
};

/// Fields in order: batch, labels, layout
struct CompareOptions {
  int64_t batch = 16;  ///< samples that are run at a time
  Tensor labels = {};  ///< int64 [n]
  /// Axis order of the samples, where their shape fits both. as_given: that of
  /// the first model.
  OnnxLayout layout = OnnxLayout::as_given;
};

/// Runs both on x, [n,...], and holds values against each other that have the
/// same name. x is in the axis order of `a` or, where its shape tells, in that
/// of `b` or in neither: channels first or last; values of a file that has the
/// channels first are turned for a model that has them last. Where one model
/// has a layer that the other one has taken into the layer before it (a
/// BatchNormalization that is folded, an activation), the last of these is what
/// is compared. Outputs are compared in their order. Throws: ShapeError for
/// samples that fit neither, none, or outputs of other shapes; ValueError for
/// labels that are not one class a sample, another number of outputs, or a
/// batch below 1.
Comparison compare_models(const TracedModel& a, const TracedModel& b,
                          const Tensor& x, const CompareOptions& options = {});

/// x in the order of axes of `model`, as compare_models() turns it where x is
/// in that of `other`. Throws: ShapeError as it does.
Tensor samples_as_in(const TracedModel& model, const TracedModel& other,
                     const Tensor& x, OnnxLayout layout = OnnxLayout::as_given);

/// Largest difference of an output between samples that are run one at a time
/// and all at once, as a share of the largest output. 0 where a file fixes its
/// batch. Throws: as run().
double batch_difference(const TracedModel& model, const Tensor& x);

Config to_config(const Comparison& comparison);

}  // namespace octet::io
