// A report of a model, its quantization first of all, as one HTML file without
// anything from elsewhere: for those who decide, who have a browser and no
// Octet. What is not given is left out.
//
//   io::Report report{.title = "int8.onnx"};
//   report.graph = io::draw_onnx("int8.onnx");
//   report.comparison = io::compare_models(a, b, x);
//   write_file("report.html", io::to_html(report));
//
// Functions keep no state; any thread may call.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <octet/io/compare.h>
#include <octet/io/drawing.h>
#include <octet/io/lint.h>
#include <octet/layers/model.h>
#include <octet/quant/check_quantizers.h>
#include <octet/quant/sensitivity.h>
#include <octet/runtime/dataset.h>
#include <octet/runtime/program.h>
#include <octet/train/confusion_matrix.h>
#include <octet/train/oscillations.h>

namespace octet::io {

/// A loss or metric of the model and of the one it is held against.
struct ReportScore {
  std::string name;
  double model = 0;
  std::optional<double> reference = {};
  bool is_share = false;  ///< shown in per cent
};

/// The values of an activation that is quantized, before it is rounded.
struct ActivationHistogram {
  std::string name;   ///< the layer that makes it
  std::string codes;  ///< "int8 [-128,127]"
  double scale = 1;
  double lowest = 0, highest = 0;      ///< of the values; the bins span them
  double clip_low = 0, clip_high = 0;  ///< what the codes reach
  std::vector<int64_t> bins = {};
  int64_t values = 0;
  int64_t clipped = 0;  ///< of these, further than half a step beyond a clip
};

/// How fast a model runs.
struct ReportSpeed {
  std::string name;
  int64_t batch = 1;
  double median_ms = 0, p99_ms = 0;  ///< of a run
  int64_t weight_bytes = 0;
  int64_t activation_bytes = 0;  ///< of one sample
  std::vector<ProgramStep> steps = {};
};

/// A figure of each epoch, from the first.
struct ReportCurve {
  std::string name;  ///< "loss", "val_loss": drawn together
  std::vector<double> values;
};

struct Report {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts = {};
  std::vector<std::string> commands = {};  ///< that made the model
  std::string model = "model";             ///< what the columns call them
  std::string reference = "reference";
  std::vector<ReportScore> scores = {};
  int64_t score_samples = 0;  ///< number of samples of the scores; 0: unknown
  std::optional<Comparison> comparison =
      {};  ///< of the reference and the model
  std::vector<ActivationHistogram> activations = {};
  /// What quant::check_quantizers() found; an empty list says that all is well.
  std::optional<std::vector<quant::QuantizerFinding>> findings = {};
  std::optional<quant::Sensitivity> sensitivity = {};
  std::vector<train::OscillationShare> oscillations = {};
  std::optional<train::ConfusionMatrix> confusion = {};
  std::vector<std::string> classes = {};  ///< names, or none
  std::optional<LintReport> lint = {};
  std::vector<ReportSpeed> speeds = {};
  std::vector<ReportCurve> curves = {};
  std::optional<Drawing> graph = {};
  std::vector<std::string> notes = {};  ///< what is left out, and why
};

/// The page. All text of models and data is escaped; it has no scripts, and
/// fits a phone and a desk, light and dark.
/// Throws: ValueError for as many names as there are no classes; as to_svg().
std::string to_html(const Report& report);

/// Of each quantizer on an activation of a calibrated model, in its order, the
/// values that come to it for all samples where Q/DQ is switched off. Tensors
/// within layers are not seen. Throws: ValueError for `bins` outside [2, 1000],
/// and as Model::run().
std::vector<ActivationHistogram> activation_histograms(const Model& model,
                                                       const Dataset& samples,
                                                       int64_t bins = 64);

/// The columns of a log of train::csv_log() that are curves: all numbers but
/// the epoch and its seconds. Throws: IoError; FormatError.
std::vector<ReportCurve> read_curves(const std::filesystem::path& csv);

}  // namespace octet::io
