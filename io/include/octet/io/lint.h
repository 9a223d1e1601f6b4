// What a runtime will make of a quantized ONNX file, told before it is built:
// rules for Q/DQ graphs that are broken, each with an id, a reason and a cure,
// and a forecast of which layers run in INT8. For files of any exporter.
//
//   const io::LintReport report = io::lint_onnx("int8.onnx");
//   if (report.count(io::LintSeverity::error) > 0) print(report.to_string());
//
// `octet lint --rules` lists the rules. Functions keep no state; any thread may
// call.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <octet/io/file_limits.h>
#include <octet/runtime/config.h>
#include <octet/runtime/language.h>
#include <octet/runtime/tensor.h>

namespace octet::io {

/// Who is to run the file. tensorrt8 is 8.x, tensorrt10 is 10.x, tensorrt11 is
/// 11.x; onnxruntime and openvino are theirs for x86 processors.
enum class LintTarget {
  tensorrt8,
  tensorrt10,
  tensorrt11,
  onnxruntime,
  openvino
};

/// error: the target refuses the file or computes something else. warning:
/// speed or accuracy is lost. info: worth knowing.
enum class LintSeverity { info, warning, error };

struct LintFinding {
  std::string id;  ///< of the rule: "E06", "P12"
  LintSeverity severity = LintSeverity::info;
  /// Its name or, where it has none, its first output; "" for the whole file.
  std::string node;
  std::string reason;
  std::string cure;
};

/// How a layer is expected to run.
enum class LayerPrecision {
  floating,       ///< in floating point
  int8_to_float,  ///< reads INT8, writes floating point
  int8            ///< reads and writes INT8
};

/// The forecast for a convolution, matrix product, Add or pooling.
struct LayerForecast {
  std::string node;
  std::string op;
  LayerPrecision precision = LayerPrecision::floating;
  /// The nodes that become one kernel: "Conv + BatchNormalization + Relu".
  std::string group;
  /// What keeps it from INT8 in and out; empty if nothing does.
  std::string reason;
};

struct LintReport {
  LintTarget target = LintTarget::tensorrt10;
  /// By severity, then id, then the order of the graph.
  std::vector<LintFinding> findings = {};
  std::vector<LayerForecast> layers = {};  ///< in the graph's order
  /// Why a file that is no sound ONNX was judged in part; empty as a rule.
  std::string incomplete = "";

  int64_t count(LintSeverity severity) const;
  std::string to_string() const;
  /// The same, with findings of a lower severity counted only.
  std::string to_string(LintSeverity least) const;
};

/// Fields in order: target, samples, limits
struct LintOptions {
  LintTarget target = LintTarget::tensorrt10;
  /// Float32 [n,...] in the layout of the file, of one input: what rules A03
  /// and A07 are judged by. The file has to run.
  Tensor samples = {};
  /// Memory is for data in other files; also of running it on samples.
  FileLimits limits = {};
};

/// A rule and what breaking it means to each target.
struct LintRule {
  std::string_view id;
  std::string_view text;
  /// 'E', 'W', 'I' or '-' (does not apply), in the order of LintTarget.
  std::string_view severities;
};

/// The rules that lint_onnx() judges, in the order of their ids.
std::span<const LintRule> lint_rules();

/// Throws: IoError; FormatError for what is no ONNX model, or one that is not
/// sound and breaks none of the rules; UnsupportedError for versions and
/// element types that Octet does not read; ValueError for limits out of range;
/// with samples, what compare_models() throws.
LintReport lint_onnx(const std::filesystem::path& path,
                     const LintOptions& options = {});
/// The same for a file's contents, such as OnnxFile::bytes, without other
/// files.
LintReport lint_onnx_bytes(const std::string& bytes,
                           const LintOptions& options = {});

/// One thing that fix_onnx() changed.
struct LintRepair {
  std::string id;  ///< of the rule that was broken
  std::string node;
  std::string what;  ///< in words, with what becomes of the file's answers
};

struct [[nodiscard]] LintFix {
  std::string bytes;  ///< of the repaired file
  std::vector<LintRepair> repairs;
};

/// Repairs what needs no training:
/// - the same answers: uint8 with zero point 128 becomes int8 (E02, E04); zero
///   points of another count than scales (E05), axes (E09) and scales of
///   channels that are all zero (E06) are written; a quantized bias becomes
///   float32 (E17), for TensorRT 8 weights stored as codes, too (E19); a DQ and
///   Q of one scale go (P19);
///   for OpenVINO, int8 between a Concat and a convolution becomes uint8 (E22);
/// - answers nearer to what training computed: a missing zero point is int8, so
///   that values below 0 are kept, as TensorRT has it (E03); pairs before
///   outputs go (P16);
/// - answers that differ by a step of a weight's code: codes of -128 become
///   -127 (E20).
/// What is repaired is what lint_onnx() tells for the target; the rest stays.
/// Throws: as lint_onnx(), and FormatError for a file that it judges in part;
/// UnsupportedError from 2 GiB on.
LintFix fix_onnx(const std::filesystem::path& path,
                 const LintOptions& options = {});
/// The same for a file's contents.
LintFix fix_onnx_bytes(const std::string& bytes,
                       const LintOptions& options = {});

std::string_view to_text(LintTarget target);
std::string_view to_text(LintSeverity severity);
/// "INT8 in, INT8 out", "INT8 in, FP out", "FP".
std::string_view to_text(LayerPrecision precision);
/// Throws: ValueError for anything but the names of LintTarget.
LintTarget lint_target(std::string_view name);

/// The report as a tree for JSON.
Config to_config(const LintReport& report);

}  // namespace octet::io
