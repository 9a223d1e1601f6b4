#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/io/data.h>
#include <octet/io/json.h>
#include <octet/io/onnx.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

#include "../common/program.h"
#include "commands.h"
#include "comparison_text.h"
#include "io_names.h"
#include "sample_layout.h"

namespace octet::program {
namespace {

constexpr const char* kCompareNotes = R"(
Layers are matched by name, ignoring "quant_", and sorted by the noise they
add. Noise is the power of the difference relative to the power of the first
model's output; added noise excludes the noise of the layer's inputs. Column
"max error" is the largest difference, "largest" the largest magnitude in the
first model, "changed" the number of quantized values that differ. ONNX files
run node by node on the reference executor, .tflite files operator by operator
in integer arithmetic. Samples may be NCHW or NHWC: the shape selects the order,
or --layout if both fit.

With --check or a tolerance, the exit code is 1 if a tolerance is exceeded, and
batch size 1 is compared, too. octet verify FILE --reference MODEL is octet
compare MODEL FILE --check.

Examples:
  octet compare model.h5 int8.onnx --data x.npy --labels l.npy
  octet compare before.onnx after.onnx --data x_nchw.npy --json
  octet compare model.h5 int8.onnx --data x.npy --min-sqnr 30
)";

constexpr const char* kVerifyNotes = R"(
Runs the file node by node on the reference executor; a .tflite file in the
integer arithmetic of TensorFlow Lite Micro. The exit code is 1 if a tolerance
is exceeded. A file with Q/DQ compared with a float reference has quantization
noise, so only its outputs are checked. The tolerances in use are printed. octet
compare explains the table.

Examples:
  octet verify int8.onnx --input x.npy
  octet verify int8.onnx --input x.npy --reference float.onnx
  octet verify int8.onnx --input x.npy --reference model.h5 --min-sqnr 30
  octet verify int8.tflite --input x.npy --reference model.h5
)";

/// Number of samples that also run one at a time.
constexpr int64_t kAlone = 8;
constexpr double kNotGiven = -2000;  // dB

/// Options of `octet compare` and `octet verify`. Tolerances below their range
/// are not given; tolerances_of() has the defaults.
struct CompareCommand {
  ModelSource model;
  std::string other;
  std::string data;
  std::string labels;
  std::optional<std::string> layout;
  int64_t batch = 16;
  bool check = false;
  double min_sqnr = kNotGiven;
  double min_agreement = -1;
  double max_flips = -1;
  double max_batch_error = -1;
  bool json = false;

  /// Whether tolerances are checked.
  bool checks() const {
    return check || min_sqnr > kNotGiven || min_agreement >= 0 ||
           max_flips >= 0 || max_batch_error >= 0;
  }
};

/// Tolerances in use.
struct Tolerances {
  std::string kind;  ///< description of the comparison
  double min_sqnr;
  double min_agreement;
  std::optional<double> max_flips;
  double max_batch_error;
};

struct ComparedModel {
  io::TracedModel model;
  bool quantized;
  /// Why quantized values differ from the ones of a model; empty: they do not.
  std::string rounds = "";
};

/// Loads a model; an ONNX or .tflite file runs operator by operator.
ComparedModel compared(const ModelSource& source) {
  if (is_onnx(source.what)) {
    const io::OnnxSummary file = io::inspect_onnx(source.what);
    return {read_traced(source), !file.qdq_pairs.empty(),
            file.half_precision ? "quantized values of float16" : ""};
  }
  if (is_tflite_file(source.what)) {
    io::TracedModel file = read_traced(source);
    const bool quantized = std::ranges::any_of(
        file.values(),
        [](const io::TracedValue& value) { return value.qparams.has_value(); });
    return {std::move(file), quantized, "integer arithmetic"};
  }
  Model model = read_model(source);
  const bool quantized = quant::is_quantized(model);
  return {io::TracedModel(std::move(model)), quantized};
}

/// Loads Octet's import of a file.
ComparedModel imported(const ModelSource& source) {
  if (!is_onnx(source.what) && !is_tflite_file(source.what)) {
    throw UnsupportedError("unsupported_format", source.what,
                           "no model to compare with. Hint: only ONNX and "
                           ".tflite files are compared with Octet's import");
  }
  Model model = read_model(source);
  const bool quantized = quant::is_quantized(model);
  return {io::TracedModel(std::move(model), interface_of(source)), quantized};
}

/// Compares quantized with quantized values and floats with floats; INT8
/// against float has quantization noise. Rounding to float16 and integer
/// arithmetic change quantized values to the next ones: noise of the same size.
Tolerances tolerances_of(const CompareCommand& o,
                         const ComparedModel& reference,
                         const ComparedModel& file) {
  constexpr double kSame = 40, kQuantized = 15;  // dB
  constexpr double kFlips = 0.01;
  const bool one_is_float = file.quantized != reference.quantized;
  const std::string& cause =
      file.rounds.empty() ? reference.rounds : file.rounds;
  const bool rounds = file.quantized && !cause.empty();
  Tolerances result{
      .kind = one_is_float     ? "INT8 against float"
              : rounds         ? cause
              : file.quantized ? "quantized values against quantized values"
                               : "float against float",
      .min_sqnr = o.min_sqnr > kNotGiven   ? o.min_sqnr
                  : one_is_float || rounds ? kQuantized
                                           : kSame,
      .min_agreement = o.min_agreement < 0 ? 0.99 : o.min_agreement,
      .max_flips = std::nullopt,
      .max_batch_error = o.max_batch_error < 0 ? 1e-4 : o.max_batch_error};
  if (o.max_flips >= 0) {
    result.max_flips = o.max_flips;
  } else if (!one_is_float && !rounds) {
    result.max_flips = kFlips;
  }
  return result;
}

std::string tolerances_text(const io::ModelComparison& result,
                            const Tolerances& tolerances) {
  std::string text = fmt::format("tolerances for {}: SQNR >= {:g} dB",
                                 tolerances.kind, tolerances.min_sqnr);
  if (result.agreement) {
    text += fmt::format(", top-1 agreement >= {:g} %",
                        100 * tolerances.min_agreement);
  }
  if (tolerances.max_flips) {
    text += fmt::format(", changed quantized values <= {:g} %",
                        100 * *tolerances.max_flips);
  }
  return text + "\n";
}

/// Returns a text per exceeded tolerance.
std::vector<std::string> failures_of(const io::ModelComparison& result,
                                     double alone, const Tolerances& allowed) {
  std::vector<std::string> failures;
  // Negated: NaN fails.
  if (!(result.output_sqnr() >= allowed.min_sqnr)) {
    failures.push_back(fmt::format("SQNR is {:.1f} dB, must be at least {:g}",
                                   result.output_sqnr(), allowed.min_sqnr));
  }
  if (result.agreement && !(*result.agreement >= allowed.min_agreement)) {
    failures.push_back(
        fmt::format("top-1 agreement is {:.4g}, must be at least {}",
                    *result.agreement, allowed.min_agreement));
  }
  if (allowed.max_flips && !(result.flip_share() <= *allowed.max_flips)) {
    failures.push_back(fmt::format(
        "share of changed quantized values is {:.4g}, must be at most {}",
        result.flip_share(), *allowed.max_flips));
  }
  if (!(alone <= allowed.max_batch_error)) {
    failures.push_back(
        fmt::format("batch size 1 differs by {:.3g} of the largest output, "
                    "must be at most {}",
                    alone, allowed.max_batch_error));
  }
  return failures;
}

/// Compares `file` with `reference`; both are the same for a file and Octet's
/// import of it.
void compare(const CompareCommand& o, const ModelSource& reference_source,
             const ModelSource& file_source) {
  const io::OnnxLayout layout = layout_of(o.layout);
  const Tensor x = io::read_npy(o.data);
  if (!o.other.empty()) {
    check_samples(x, reference_source);
    check_samples(x, file_source);
  }
  const ComparedModel reference =
      o.other.empty() ? imported(file_source) : compared(reference_source);
  const ComparedModel file = compared(file_source);
  const io::ModelComparison result = io::compare_models(
      reference.model, file.model, x,
      {.batch = o.batch,
       .labels = o.labels.empty() ? Tensor() : io::read_npy(o.labels),
       .layout = layout});
  Config config = io::to_config(result);
  std::string text = values_text(result.by_noise()) + totals_text(result);
  std::vector<std::string> failures;
  if (o.checks()) {
    const int64_t n = std::min(kAlone, x.shape()[0]);
    const double alone = io::batch_difference(
        file.model,
        io::samples_as_in(file.model, reference.model, x, layout).slice(0, n));
    const Tolerances allowed = tolerances_of(o, reference, file);
    failures = failures_of(result, alone, allowed);
    config.set("batch_1_difference",
               std::isfinite(alone) ? Config(alone) : Config());
    config.set("comparison", allowed.kind).set("min_sqnr", allowed.min_sqnr);
    config.set("failures", Config::List(failures.begin(), failures.end()));
    text += fmt::format(
                "changed quantized values: {:.3g} %\nbatch size 1 "
                "against {}: {:.3g} of the largest output\n",
                100 * result.flip_share(), n, alone) +
            tolerances_text(result, allowed);
  }
  print(o.json ? io::to_json(config) + "\n" : text);
  if (failures.empty()) return;
  throw ValueError("accuracy_not_met", file_source.what,
                   fmt::format("{}", fmt::join(failures, "; ")));
}

void add_tolerances(Command& command, CompareCommand& o) {
  command.begin_group("Tolerances");
  command
      .add("--min-sqnr", o.min_sqnr, -1000, 1000,
           "minimum SQNR of the outputs (default: 40; 15 for INT8 against "
           "float, INT8 in float16 and .tflite files)")
      .type("DB");
  command.add("--min-agreement", o.min_agreement, 0, 1,
              "minimum top-1 agreement, 0 to 1 (default: 0.99)");
  command.add("--max-flips", o.max_flips, 0, 1,
              "maximum share of changed quantized values (default: 0.01; "
              "unlimited where 15 dB suffice)");
  command.add("--max-batch-error", o.max_batch_error, 0, 1e9,
              "maximum difference between batch sizes, relative to the largest "
              "output (default: 0.0001)");
}

void add(CommandLine& program, const char* name, const char* description,
         const char* notes, bool verifies) {
  const auto options = std::make_shared<CompareCommand>();
  CompareCommand& o = *options;
  o.check = verifies;
  Command command = program.add_command(name, description);
  add_model(command, o.model, verifies ? "ONNX or .tflite file" : kModelHelp);
  if (!verifies) {
    command.add("other", o.other,
                "model to compare with (default: Octet's import of an ONNX or "
                ".tflite file)");
  }
  command.begin_group("Input");
  command
      .add(verifies ? "--input" : "--data", o.data,
           "samples [N,...] in the axis order of either model")
      .type("X.npy")
      .required();
  add_layout_option(command, o.layout,
                    "axis order of samples whose shape fits NHWC and NCHW "
                    "(default: the reference's)");
  if (verifies) {
    command
        .add("--reference", o.other,
             "reference model (default: Octet's import of the file)")
        .type("MODEL");
  }
  command
      .add("--labels", o.labels, "class labels int64 [N], to report accuracy")
      .type("L.npy");
  command.add("--batch", o.batch, 1, 1 << 20, "batch size").show_default();
  if (!verifies) {
    command.begin_group("Tolerances");
    command.add_flag("--check", o.check, "check the default tolerances");
  }
  add_tolerances(command, o);
  command.begin_group("Output");
  command.add_flag("--json", o.json, "print JSON");
  command.set_footer(notes);
  command.when_chosen([options, verifies] {
    ModelSource other = options->model;
    if (!options->other.empty()) other.what = options->other;
    if (!verifies) warn_of_untrained(options->model);
    verifies ? compare(*options, other, options->model)
             : compare(*options, options->model, other);
  });
}

}  // namespace

void add_compare(CommandLine& program) {
  add(program, "compare",
      "Compare the layer outputs of two models on the same samples",
      kCompareNotes, false);
}

void add_verify(CommandLine& program) {
  add(program, "verify",
      "Compare an ONNX or .tflite file with a reference model", kVerifyNotes,
      true);
}

}  // namespace octet::program
