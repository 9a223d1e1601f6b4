// octet quantize: from a float model and samples to a file for TensorRT.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/io/npy.h>
#include <octet/io/onnx.h>
#include <octet/layers/model_data.h>
#include <octet/quant/calibrate_auto.h>
#include <octet/runtime/error.h>
#include <octet/runtime/near_names.h>

#include "../program.h"
#include "commands.h"
#include "engine_files.h"
#include "export_options.h"
#include "named_files.h"
#include "placement_options.h"
#include "read_model.h"
#include "same_order.h"

namespace octet::program {
namespace {

constexpr const char* kExamples = R"(Data:
  A few hundred samples as the model sees them in use, scaled as in training:
  float32 [N,...], images NHWC, those of an ONNX file too. With --labels a
  quarter of them judges the methods by accuracy, else each tensor gets the
  method with the least error.

Examples:
  octet quantize model.keras -o int8.onnx --data x.npy --labels l.npy
  octet quantize resnet18.onnx -o int8.onnx --data x_nhwc.npy --method entropy
  octet quantize model.h5 -o int8.onnx --data x.npy --policy toolkit --spec s.json
  octet quantize pair.h5 -o int8.onnx --data left=a.npy --data right=b.npy
  octet quantize model.h5 -o int8.onnx --data x.npy --target tensorrt10 --golden
)";

struct Options {
  ModelSource model;
  PlacementOptions placement;
  ExportOptions file;
  EngineOptions engine;
  std::string output;
  std::vector<std::string> data;  // a path, or NAME=path
  std::string labels;
  std::string method = "auto";
  int64_t samples = 0;
  double percentile = 99.99;
};

Tensor read_samples(const std::string& path) {
  Tensor x = io::read_npy(path);
  if (x.dtype() == DType::f32) return x;
  throw FormatError(fmt::format(
      "'{}': expected float32, got {}. Hint: x.astype(\"float32\"), scaled as "
      "in training: / 255, as a rule",
      path, to_string(x.dtype())));
}

Dataset read_data(const Options& o, const Model& model) {
  const std::vector<std::string> names = input_names(model);
  const std::vector<std::string> paths = paths_for("--data", o.data, names);
  std::vector<NamedTensor> inputs;
  for (size_t i = 0; i < names.size(); ++i) {
    if (paths[i].empty()) {
      throw ValueError(fmt::format(
          "--data: expected a file for each of '{}', got none for '{}'",
          fmt::join(names, "', '"), names[i]));
    }
    inputs.emplace_back(names[i], read_samples(paths[i]));
  }
  if (o.labels.empty()) return Dataset::unlabelled(std::move(inputs));
  Tensor labels = io::read_npy(o.labels);
  if (labels.dtype() != DType::i64 || labels.shape().rank() != 1) {
    throw FormatError(fmt::format(
        "'{}': expected int64 [N], the classes, got {} {}. Hint: "
        "labels.reshape(-1).astype(\"int64\")",
        o.labels, to_string(labels.dtype()), labels.shape().to_string()));
  }
  return Dataset(std::move(inputs), std::move(labels));
}

std::optional<quant::Calibration> method_of(const std::string& word) {
  using quant::Calibration;
  const std::pair<const char*, std::optional<Calibration>> known[] = {
      {"auto", std::nullopt},
      {"max", Calibration::max},
      {"percentile", Calibration::percentile},
      {"mse", Calibration::mse},
      {"entropy", Calibration::entropy}};
  std::vector<std::string> words;
  for (const auto& [name, method] : known) {
    if (word == name) return method;
    words.emplace_back(name);
  }
  throw ValueError(fmt::format("--method: expected {}, got '{}'{}",
                               fmt::join(words, ", "), word,
                               suggest_near(word, words)));
}

/// How good the scales are, as text.
std::string calibrate(Model& int8, const Dataset& data, const Options& o) {
  const std::optional<quant::Calibration> method = method_of(o.method);
  if (!method) {
    return quant::calibrate_auto(int8, data, {.samples = o.samples})
        .to_string();
  }
  quant::calibrate(int8, data,
                   {.method = *method,
                    .percentile = static_cast<float>(o.percentile),
                    .samples = o.samples});
  return fmt::format(
      "calibrated with {} on {} samples\n", o.method,
      o.samples > 0 ? std::min(o.samples, data.size()) : data.size());
}

void quantize(const Options& o) {
  check_output(o.output);
  (void)method_of(o.method);
  (void)onnx_options(o.file, {});
  check_engine_options(o.engine);
  warn_of_untrained(o.model);
  const Model model = read_model(o.model);
  const Dataset data = data_for("quantize", model, read_data(o, model));
  Model int8 = quantized(model, o.placement);
  print(calibrate(int8, data, o));
  const io::OnnxOptions file = onnx_options(o.file, names_of(o.model, model));
  const io::OnnxReport report = io::export_onnx(int8, o.output, file);
  warn_of_other_axes(o.model, model, file);
  print(fmt::format("{}: {} nodes, {} Q/DQ pairs, {} bytes\n", o.output,
                    report.nodes, report.qdq_pairs, report.bytes));
  write_engine_files(o.output, file.target, o.engine, &data, o.model.limits());
}

}  // namespace

void add_quantize(CommandLine& program) {
  const auto options = std::make_shared<Options>();
  Options& o = *options;
  Command command = program.add_command(
      "quantize", "Quantize a model to INT8 by samples, as an ONNX file");
  add_model(command, o.model, kModelHelp);
  command.add("-o,--output", o.output, "what to write")
      .type("OUT.onnx")
      .required()
      .check([](const std::string& path) {
        return path.ends_with(".onnx") ? std::string()
                                       : "expected the name of an .onnx file, "
                                         "got '" +
                                             path + "'";
      });
  command
      .add("--data", o.data,
           "X.npy: float32 [N,...], samples to calibrate on; NAME=X.npy for "
           "each of several inputs")
      .required();
  command.add("--labels", o.labels,
              "L.npy: int64 [N], their classes, to choose by accuracy");
  command
      .add("--method", o.method,
           "how ranges are found; auto tries all and keeps the best")
      .type("auto|max|percentile|mse|entropy")
      .show_default();
  command.add("--percentile", o.percentile, 50, 100,
              "of --method percentile (99.99)");
  command.add("--samples", o.samples, 4, int64_t{1} << 31,
              "so many of the samples, chosen by chance [all]");
  add_placement_options(command, o.placement);
  add_export_options(command, o.file);
  add_engine_options(command, o.engine);
  command.set_footer(kExamples);
  command.when_chosen([options] { quantize(*options); });
}

}  // namespace octet::program
