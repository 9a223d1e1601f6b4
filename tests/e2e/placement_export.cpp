// placement_export FOLDER: trains Frodo, Merry and Pippin for an epoch,
// quantizes each in every way, fine-tunes for an epoch and writes
// FOLDER/<network>.<way>.onnx with Octet's outputs. Bilbo, too large to train
// here, and a network of SeparableConv2D are calibrated and exported.
// FOLDER/cases.json lists the files for tests/oracle/compare_placements.py.
#include <algorithm>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <octet/io/data.h>
#include <octet/io/json.h>
#include <octet/io/onnx.h>
#include <octet/layers/layers.h>
#include <octet/quant/quant.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>
#include <octet/train/train.h>

#include "images.h"

namespace octet {
namespace {

using quant::Policy;
using quant::QuantizationMode;

constexpr int64_t kTrainingImages = 3000;
constexpr int64_t kFineTuningImages = 2000;
constexpr int64_t kTestImages = 2000;

struct Way {
  std::string name;
  /// nullopt: placement by patterns.
  std::optional<quant::QuantizeOptions> options;
  /// Pairs of the exported file, as counted for the toolkit; 0: not counted.
  /// Source: NVIDIA tensorflow-quantization 0.2.0, replayed by hand.
  int64_t pairs = 0;

  Model quantize(const Model& model) const {
    if (options) return quant::quantize_model(model, *options);
    if (onnxruntime) {
      const quant::TransformResult found =
          quant::transform(model, quant::onnxruntime_patterns(),
                           quant::onnxruntime_conversions());
      return quant::insert_qdq(found.model, found.matches,
                               {.activation = {.is_signed = false}});
    }
    const quant::TransformResult result = quant::transform(model);
    return quant::insert_qdq(result.model, result.matches);
  }
  /// Unsigned values in chains of integer operators of ONNX Runtime.
  bool onnxruntime = false;

  /// Returns whether convolutions or dense layers may lack Q/DQ.
  bool partial() const {
    return !options || options->mode == QuantizationMode::partial;
  }
};

quant::QuantizeOptions toolkit() { return {.policy = Policy::toolkit}; }

quant::QuantizeOptions toolkit_with(quant::InsertionCase insertion_case) {
  return {.cases = {std::move(insertion_case)}, .policy = Policy::toolkit};
}

quant::QuantizeOptions partial(quant::QuantizationSpec spec) {
  return {.mode = QuantizationMode::partial,
          .spec = std::move(spec),
          .policy = Policy::toolkit};
}

/// Learned weight scales, activation scales by `rule`.
quant::QuantizeOptions few_bits(
    int weight, int activation, quant::ScaleRule rule,
    quant::ScaleRule of_weights = quant::ScaleRule::learned) {
  return {.activation = {.bits = activation, .rule = rule},
          .weight = {.bits = weight,
                     .narrow_range = true,
                     .per_channel = true,
                     .rule = of_weights}};
}

/// Two matrix products in a layer, with a Q/DQ pair each.
Model separable() {
  const SymbolicTensor image = input({28, 28}, "image");
  SymbolicTensor x = Reshape({.target_shape = {28, 28, 1}})(image);
  x = SeparableConv2D({.filters = 8, .depth_multiplier = 4})(x);
  x = ReLU()(BatchNormalization()(x));
  x = SeparableConv2D({.filters = 16, .strides = {2, 2}})(x);
  x = GlobalAveragePooling2D()(ReLU()(BatchNormalization()(x)));
  return Model(image, Dense({.units = 10})(x), {.name = "separable"});
}

std::vector<Way> ways_of(std::string_view network) {
  const Way tensorrt{"tensorrt", quant::QuantizeOptions()};
  const Way onnxruntime{"onnxruntime", std::nullopt, 0, true};
  if (network == "separable") return {tensorrt, onnxruntime};
  const Way patterns{"patterns", std::nullopt};
  quant::QuantizationSpec spec;
  if (network == "frodo") {
    spec.add({"conv2d_2", "dense"});
    return {{"toolkit", toolkit(), 17},
            {"toolkit_case", toolkit_with(quant::ResNetV1QDQCase()), 18},
            {"partial", partial(spec), 4},
            tensorrt,
            patterns,
            onnxruntime,
            {"int4_learned", few_bits(4, 4, quant::ScaleRule::learned)},
            {"int4_ema", few_bits(4, 8, quant::ScaleRule::ema)},
            {"int2_learned", few_bits(2, 8, quant::ScaleRule::learned)},
            {"int4_log2", few_bits(4, 4, quant::ScaleRule::learned_log2,
                                   quant::ScaleRule::learned_log2)},
            {"int4_clip", few_bits(4, 4, quant::ScaleRule::learned_clip)},
            {"int6_last", few_bits(6, 6, quant::ScaleRule::last_value)}};
  }
  if (network == "merry") {
    spec.add("concatenate",
             {.quantize_weight = false, .quantization_index = {0}});
    return {{"toolkit", toolkit(), 13},
            {"toolkit_case", toolkit_with(quant::InceptionQDQCase()), 14},
            {"partial", partial(spec), 1},
            tensorrt,
            patterns,
            onnxruntime};
  }
  if (network == "pippin") {
    spec.add("Conv2D", {.is_keras_class = true});
    return {{"toolkit", toolkit(), 17},
            {"toolkit_case", toolkit_with(quant::ResNetV1QDQCase()), 18},
            {"partial", partial(spec), 13},
            tensorrt,
            patterns,
            onnxruntime};
  }
  return {{"toolkit", toolkit(), 18}, tensorrt, patterns};
}

std::string_view bytes_of(const Tensor& t) {
  return {static_cast<const char*>(t.raw()), static_cast<size_t>(t.bytes())};
}

/// Shapes: logits [n,classes], labels [n].
double right_answers(const Tensor& logits, const Tensor& labels) {
  const auto classes = static_cast<size_t>(logits.shape()[1]);
  const auto wanted = labels.data<int64_t>();
  int64_t right = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto row = logits.f32().subspan(i * classes, classes);
    right += std::ranges::max_element(row) - row.begin() == wanted[i];
  }
  return static_cast<double>(right) / static_cast<double>(wanted.size());
}

void train_epoch(Model& model, const Dataset& data, float rate) {
  train::fit(
      model, data,
      {.batch_size = 16, .optimizer = train::Adam({.learning_rate = rate})});
}

class Writer {
 public:
  explicit Writer(std::filesystem::path folder) : folder_(std::move(folder)) {
    // Removes results of earlier runs.
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }

  void write_images(const std::string& network, const Batch& batch) const {
    const bool is_image = batch.input().shape().rank() == 4;
    write_file(folder_ / (network + ".inputs.f32"),
               bytes_of(is_image ? batch.input().transposed({0, 3, 1, 2})
                                 : batch.input()));
    write_file(folder_ / (network + ".labels.i64"), bytes_of(batch.label()));
  }

  /// Returns the accuracy.
  double write_case(const std::string& network, const Way& way,
                    const Model& quantized, const Batch& batch) {
    const std::string name = network + "." + way.name;
    const Tensor logits = quantized.predict(batch.input());
    write_file(folder_ / (name + ".logits.f32"), bytes_of(logits));
    const io::OnnxExportReport report = io::export_onnx(
        quantized, folder_ / (name + ".onnx"),
        way.onnxruntime
            ? io::OnnxExportOptions::for_target(io::Target::onnxruntime)
            : io::OnnxExportOptions());
    cases_.push_back(Config()
                         .set("name", name)
                         .set("network", network)
                         .set("partial", way.partial())
                         .set("pairs", way.pairs));
    const double accuracy = right_answers(logits, batch.label());
    fmt::print("{:<20}  {:>3} Q/DQ pairs  {:6.2f} %\n", name, report.qdq_pairs,
               100 * accuracy);
    return accuracy;
  }

  void finish() const {
    write_file(folder_ / "cases.json", io::to_json(cases_));
  }

 private:
  std::filesystem::path folder_;
  Config::List cases_;
};

void write_trained(Writer& writer, const std::string& network,
                   const io::TrainTest& data) {
  Model model = zoo::make(network, {.seed = 1});
  const Dataset train_set = images_for(model, data.train, kTrainingImages);
  const Dataset test_set = images_for(model, data.test, kTestImages);
  const Batch test = test_set.batch(0, test_set.size());
  writer.write_images(network, test);
  train_epoch(model, train_set, 1e-3f);
  for (const Way& way : ways_of(network)) {
    Model quantized = way.quantize(model);
    quant::calibrate(quantized, train_set.take(512));
    quant::prepare_qat(quantized);
    train_epoch(quantized, train_set.take(kFineTuningImages), 3e-4f);
    const double accuracy = writer.write_case(network, way, quantized, test);
    // Chance level is 0.1; batch statistics do not converge in so few steps.
    if (accuracy < 0.4) {
      throw ValueError(
          "accuracy_not_met", network,
          fmt::format("accuracy of {} is {:.2f} %, must be at least 40 %",
                      way.name, 100 * accuracy));
    }
  }
}

void write_untrained(Writer& writer, const std::string& network,
                     const Model& model, const io::TrainTest& data) {
  const Dataset few = images_for(model, data.test, 16);
  const Batch batch = few.batch(0, few.size());
  writer.write_images(network, batch);
  for (const Way& way : ways_of(network)) {
    Model quantized = way.quantize(model);
    quant::calibrate(quantized, few);
    writer.write_case(network, way, quantized, batch);
  }
}

void write_all(const std::filesystem::path& folder) {
  const io::TrainTest data = io::fashion_mnist();
  Writer writer(folder);
  for (const char* network : {"frodo", "merry", "pippin"}) {
    with_context([&] { return fmt::format("in network '{}'", network); },
                 [&] { write_trained(writer, network, data); });
  }
  write_untrained(writer, "bilbo", zoo::make("bilbo", {.seed = 1}), data);
  write_untrained(writer, "separable", separable(), data);
  writer.finish();
}

}  // namespace
}  // namespace octet

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: placement_export FOLDER\n");
    return 2;
  }
  try {
    octet::write_all(argv[1]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "placement_export: {}\n", error.what());
    return 1;
  }
  return 0;
}
