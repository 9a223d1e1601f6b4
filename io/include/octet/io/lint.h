// Lint for quantized ONNX and .tflite files of any exporter: rules for broken
// quantization, each with an id, a reason and a fix hint, and a forecast of the
// layers that a runtime executes in INT8, before the engine is built.
//
//   const io::LintReport report = io::lint_onnx("int8.onnx");
//   if (report.count(io::LintSeverity::error) > 0) {
//     std::cout << report.to_string();
//   }
//
// `octet lint --rules` lists the rules. Functions are stateless and
// thread-safe.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <octet/io/onnx.h>
#include <octet/runtime/config.h>
#include <octet/runtime/detail/language.h>
#include <octet/runtime/file.h>
#include <octet/runtime/tensor.h>

namespace octet::io {

/// error: the target rejects the file or computes different results. warning:
/// speed or accuracy is lost. info: worth knowing.
enum class LintSeverity { info, warning, error };

/// A violation of a rule.
struct LintFinding {
  std::string id;                              ///< of the rule: "E06", "P12"
  LintSeverity severity = LintSeverity::info;  ///< for the target
  /// Name of the node, otherwise its first output; "" for the whole file.
  std::string node;
  std::string reason;  ///< why the rule is broken, with names and values
  std::string hint;    ///< how to fix it
};

/// Expected precision of a layer.
enum class LayerPrecision {
  floating,       ///< floating point
  int8_to_float,  ///< INT8 input, floating-point output
  int8            ///< INT8 input and output
};

/// The forecast for a convolution, matrix product, Add or pooling.
struct LayerForecast {
  std::string node;  ///< its name, otherwise its first output
  std::string op;    ///< operator: "Conv"
  LayerPrecision precision = LayerPrecision::floating;  ///< predicted
  /// The nodes fused into a kernel: "Conv + BatchNormalization + Relu".
  std::string group;
  /// Why it is not INT8 at both ends; empty if it is.
  std::string reason;
  bool fp8 = false;  ///< whether its quantized values are FP8 instead of INT8
};

/// Findings and forecast for a file.
struct LintReport {
  /// Name of the runtime: to_string() of a Target, or "tflite".
  std::string target = "tensorrt10";
  /// By severity, then id, then the order of the graph.
  std::vector<LintFinding> findings = {};
  std::vector<LayerForecast> layers = {};  ///< in the graph's order
  /// Why only some rules could be checked in an invalid file; usually empty.
  std::string incomplete = "";

  /// Returns the number of findings of exactly this severity.
  int64_t count(LintSeverity severity) const;
  /// Returns all findings by rule, the forecast as a table, and totals.
  std::string to_string() const;
  /// Lists findings of at least this severity and counts the others.
  std::string to_string(LintSeverity least) const;
};

/// Options of lint_onnx() and fix_onnx().
/// Fields in order: target, samples, limits
struct LintOptions {
  Target target = Target::tensorrt10;  ///< not Target::any
  /// Input samples, float32 [n,...] in the file's layout, for files with one
  /// input. Required by rules A03 and A07, which run the file; ignored by
  /// fix_onnx().
  Tensor samples = {};
  /// The memory limit covers external data and runs on samples.
  FileLimits limits = {};
};

/// A rule and its severity for each target.
struct LintRule {
  std::string_view id;    ///< "E06"
  std::string_view text;  ///< the condition of a correct file, one line
  /// 'E', 'W', 'I' or '-' (does not apply), in the order of Target;
  /// none for Target::any. One for rules of .tflite files.
  std::string_view severities;
};

/// Returns the rules of lint_onnx(), ordered by id.
std::span<const LintRule> lint_rules();

/// Checks a file and forecasts its execution. Throws: IoError; FormatError for
/// files that are not ONNX models, or invalid without breaking a rule;
/// UnsupportedError for versions and element types that Octet does not support;
/// ValueError for limits out of range; with samples, as compare_models().
LintReport lint_onnx(const std::filesystem::path& path,
                     const LintOptions& options = {});
/// Checks the contents of a file, such as OnnxFile::bytes, without external
/// data.
LintReport lint_onnx_bytes(const std::string& bytes,
                           const LintOptions& options = {});

/// Returns the rules of lint_tflite(), ordered by id.
std::span<const LintRule> tflite_lint_rules();

/// Checks a .tflite file for TensorFlow Lite Micro, CMSIS-NN and Ethos-U, and
/// lists the precision of its operators. Throws: IoError; FormatError for files
/// that are not valid, such as zero points outside of the type;
/// UnsupportedError for several graphs.
LintReport lint_tflite(const std::filesystem::path& path);
/// Checks the contents of a file, such as TfliteFile::bytes.
LintReport lint_tflite_bytes(const std::string& bytes);

/// A change made by fix_onnx().
struct LintRepair {
  std::string id;    ///< of the broken rule
  std::string node;  ///< its name, otherwise its first output
  std::string what;  ///< for people, with the effect on the results
};

/// Result of fix_onnx().
struct [[nodiscard]] LintFix {
  std::string bytes;                ///< of the repaired file
  std::vector<LintRepair> repairs;  ///< in order; empty: nothing to repair
};

/// Repairs what needs no training:
/// - same results: uint8 with zero point 128 becomes int8 (E02, E04); adds zero
///   points that match the scales (E05), axes (E09) and scales of channels that
///   are all zero (E06); converts a quantized bias (E17) and, for TensorRT 8,
///   weights stored as int8 (E19) to float32; removes a DQ and Q of equal scale
///   (P19); for OpenVINO, int8 between a Concat and a convolution becomes uint8
///   (E22); scales of shape [1] become scalars (P31);
/// - results nearer to training: a missing zero point becomes int8, which keeps
///   values below 0, as in TensorRT (E03); removes pairs before outputs (P16);
/// - results that differ by a step of a weight: quantized values of -128 become
///   -127 (E20).
/// Repairs only findings of lint_onnx() for the target.
/// Throws: as lint_onnx(); FormatError for a file that lint checks in part;
/// UnsupportedError from 2 GiB on.
LintFix fix_onnx(const std::filesystem::path& path,
                 const LintOptions& options = {});
/// Repairs the contents of a file.
LintFix fix_onnx_bytes(const std::string& bytes,
                       const LintOptions& options = {});

/// Returns "info", "warning" or "error".
std::string_view to_string(LintSeverity severity);
/// Returns "INT8 in, INT8 out", "INT8 in, FP out" or "FP".
std::string_view to_string(LayerPrecision precision);
/// The report as a tree for JSON.
Config to_config(const LintReport& report);

}  // namespace octet::io
