// Drawings of networks, and reports of a model and its quantization as a
// self-contained HTML file, which omits sections without data.
//
//   const io::Drawing drawing = io::draw_onnx("int8.onnx");
//   write_file("int8.svg", io::to_svg(drawing));
//
//   io::Report report{.title = "int8.onnx"};
//   report.graph = drawing;
//   report.comparison = io::compare_models(a, b, x);
//   write_file("report.html", io::to_html(report));
//
// Drawings and reports are values. Functions are stateless and thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <octet/io/compare.h>
#include <octet/io/lint.h>
#include <octet/layers/model.h>
#include <octet/quant/optimize.h>
#include <octet/quant/sensitivity.h>
#include <octet/runtime/dataset.h>
#include <octet/runtime/file.h>
#include <octet/runtime/program.h>
#include <octet/train/callback.h>
#include <octet/train/metric.h>

namespace octet::io {

/// A layer of a model or a node of a file.
struct DrawnLayer {
  std::string name;   ///< of the layer without wrapper, node or port
  std::string op;     ///< class or operator: "Conv2D, relu", "Conv"
  std::string shape;  ///< of its first output: "[N,28,28,16]"; may be empty
  std::string weights = {};  ///< type of quantized weights, otherwise empty
};

/// The layers of one kernel, or a layer without prediction.
struct DrawnBox {
  std::vector<DrawnLayer> layers;                ///< at least one, in order
  std::optional<LayerPrecision> precision = {};  ///< none: no prediction
  std::string reason = {};  ///< why it does not run in INT8
};

/// An edge from the producer of a value to a consumer.
struct DrawnEdge {
  size_t from = 0;        ///< an index of Drawing::boxes
  size_t to = 0;          ///< greater than `from`
  std::string pair = {};  ///< Q/DQ on the edge: "int8, scale 0.02"
};

/// The boxes and edges of a network, without positions.
struct Drawing {
  std::string title;                   ///< name of the model or of the file
  std::vector<DrawnBox> boxes;         ///< in topological order
  std::vector<DrawnEdge> edges;        ///< between boxes, not within
  Target target = Target::tensorrt10;  ///< of the predicted precisions
  std::string note = {};  ///< why there is no forecast, otherwise empty
};

/// Options of draw() and draw_onnx().
/// Fields in order: target, fuse, limits
struct DrawOptions {
  Target target = Target::tensorrt10;  ///< for the forecast; not any
  bool fuse = true;        ///< one box per kernel instead of per layer
  FileLimits limits = {};  ///< for draw_onnx()
};

/// Draws the layers of a model. Precisions are predicted for its ONNX export;
/// if there is none, as for an uncalibrated model, Drawing::note has the
/// reason.
Drawing draw(const Model& model, const DrawOptions& options = {});

/// Draws the nodes of an ONNX file of any exporter. Q/DQ pairs are points on
/// edges; constant subgraphs are omitted.
/// Throws: as inspect_onnx().
Drawing draw_onnx(const std::filesystem::path& path,
                  const DrawOptions& options = {});

/// Returns a self-contained SVG file without scripts or fonts, for light and
/// dark backgrounds. Names are escaped and shortened to a line; tooltips show
/// the full name, scales and reason.
/// Throws: ValueError for boxes without layers and edges that are out of range
/// or not in topological order; UnsupportedError for more than 20000 boxes, or
/// more crossing edges than can be drawn. Hint: to_dot().
std::string to_svg(const Drawing& drawing);

/// Returns a self-contained SVG chart of a search: score, or output SQNR, of
/// the complete trials against latency and file size. The trials that no other
/// trial beats are joined by a line, the selected trial is marked; tooltips
/// name the recipes.
std::string to_svg(const quant::Optimized& found);

/// Returns the drawing in Graphviz' DOT language, with colors.
/// Throws: ValueError as to_svg().
std::string to_dot(const Drawing& drawing);

/// A loss or metric of the model and of the reference model.
struct ReportScore {
  std::string name;                      ///< "accuracy"
  double model = 0;                      ///< value of the model
  std::optional<double> reference = {};  ///< value of the reference model
  bool is_share = false;                 ///< shown as a percentage
};

/// Histogram of a quantized activation before rounding.
struct ActivationHistogram {
  std::string name;                ///< of the producer
  std::string codes;               ///< "int8 [-128,127]"
  double scale = 1;                ///< value of one quantization step
  double lowest = 0,               ///< least value, where the bins begin
      highest = 0;                 ///< largest value, where the bins end
  double clip_low = 0,             ///< least representable value
      clip_high = 0;               ///< largest representable value
  std::vector<int64_t> bins = {};  ///< number of values in each bin
  int64_t values = 0;              ///< number of finite values
  int64_t clipped = 0;  ///< values more than half a step outside the range
};

/// Speed of a model.
struct ReportSpeed {
  std::string name;                     ///< of the model or file
  int64_t batch = 1;                    ///< samples per run
  double median_ms = 0,                 ///< median time per run
      p99_ms = 0;                       ///< 99th percentile of the time per run
  int64_t weight_bytes = 0;             ///< of packed weights
  int64_t activation_bytes = 0;         ///< for one sample
  std::vector<ProgramStep> steps = {};  ///< with `seconds`; may be empty
};

/// A quantity per epoch, from the first.
struct ReportCurve {
  std::string name;            ///< "loss" and "val_loss" share a chart
  std::vector<double> values;  ///< NaN: no value in this epoch
};

/// Contents of a report. Only the title is required.
struct Report {
  std::string title;  ///< heading of the page
  /// Rows of the summary, name and value: {"size", "1.2 MiB"}.
  std::vector<std::pair<std::string, std::string>> facts = {};
  std::vector<std::string> commands = {};  ///< that produced the model
  std::string model = "model";             ///< column heading of the model
  std::string reference = "reference";     ///< heading of the reference model
  /// Losses and metrics. The first share is a key figure at the top.
  std::vector<ReportScore> scores = {};
  int64_t score_samples = 0;  ///< number of samples of the scores; 0: unknown
  std::optional<ModelComparison> comparison = {};  ///< of reference and model
  /// Result of activation_histograms().
  std::vector<ActivationHistogram> activations = {};
  /// Findings of quant::check_quantizers(); an empty list: no problems found.
  std::optional<std::vector<quant::QuantizerFinding>> findings = {};
  std::optional<quant::Sensitivity> sensitivity = {};  ///< of the model
  /// Oscillations::shares() of the model's training.
  std::vector<train::OscillationShare> oscillations = {};
  std::optional<train::ConfusionMatrix> confusion = {};  ///< of the model
  std::vector<std::string> classes = {};  ///< names, may be empty
  std::optional<LintReport> lint = {};    ///< of the exported model
  std::vector<ReportSpeed> speeds = {};   ///< the first is a key figure
  std::vector<ReportCurve> curves = {};   ///< of the model's training
  std::optional<Drawing> graph = {};      ///< of the model
  std::vector<std::string> notes = {};    ///< omissions and their reasons
};

/// Returns the HTML page: a verdict in one sentence, key figures, sections.
/// Text of models and data is escaped. The page makes no requests; its script
/// sorts tables and zooms the graph. Layouts for narrow and wide screens, light
/// and dark, and print. Throws: ValueError for a number of names that is not
/// that of the classes; as to_svg().
std::string to_html(const Report& report);

/// Returns the values of each quantized activation of a calibrated model, over
/// all samples, with Q/DQ disabled; in the order of the quantizers. Tensors
/// within layers are not included.
/// Throws: ValueError for `bins` outside [2, 1000]; as Model::run().
std::vector<ActivationHistogram> activation_histograms(const Model& model,
                                                       const Dataset& samples,
                                                       int64_t bins = 64);

/// Reads the curves of a train::csv_log() file: all columns except epoch and
/// seconds.
/// Throws: IoError; FormatError.
std::vector<ReportCurve> read_curves(const std::filesystem::path& csv);

}  // namespace octet::io
