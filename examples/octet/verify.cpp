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

/// Number of samples that also run one at a time.
constexpr int64_t kAlone = 8;
constexpr double kNotGiven = -2000;  // dB

struct VerifyOptions {
  ModelSource file;
  std::string input;
  std::string reference;
  std::optional<std::string> layout;
  int64_t batch = 16;
  double min_sqnr = kNotGiven;
  double min_agreement = 0.99;
  double max_flips = -1;  // negative: not given
  double max_batch_error = 1e-4;
  bool json = false;
};

/// Limits for a file.
struct Verdict {
  std::string kind;  ///< description of the comparison
  double min_sqnr;
  std::optional<double> max_flips;
};

struct Reference {
  io::TracedModel model;
  bool quantized;
};

bool has_pairs(const std::string& onnx) {
  return !io::inspect_onnx(onnx).qdq_pairs.empty();
}

/// Returns the reference model, or the import of the file itself.
Reference reference_of(const VerifyOptions& options) {
  ModelSource source = options.file;
  if (!options.reference.empty()) {
    source.what = options.reference;
    if (is_onnx(source.what)) {
      return {read_traced(source), has_pairs(source.what)};
    }
  }
  Model model = read_model(source);
  const bool quantized = quant::is_quantized(model);
  const io::OnnxInterface interface =
      options.reference.empty() ? interface_of(source) : io::OnnxInterface();
  return {io::TracedModel(std::move(model), interface), quantized};
}

/// Compares quantized with quantized values and floats with floats; INT8
/// against float has quantization noise. Rounding to float16 changes quantized
/// values, which are the next ones: noise of the same size.
Verdict check_of(const VerifyOptions& options, bool reference_quantized) {
  constexpr double kSame = 40, kQuantized = 15;  // dB
  constexpr double kFlips = 0.01;
  const io::OnnxSummary file = io::inspect_onnx(options.file.what);
  const bool quantized = !file.qdq_pairs.empty();
  const bool int8_to_float = quantized && !reference_quantized;
  const bool rounds = quantized && file.half_precision;
  Verdict check{int8_to_float ? "INT8 against float"
                : rounds      ? "quantized values of float16"
                : quantized   ? "quantized values against quantized values"
                              : "float against float",
                options.min_sqnr > kNotGiven ? options.min_sqnr
                : int8_to_float || rounds    ? kQuantized
                                             : kSame,
                std::nullopt};
  if (options.max_flips >= 0) {
    check.max_flips = options.max_flips;
  } else if (!int8_to_float && !rounds) {
    check.max_flips = kFlips;
  }
  return check;
}

std::string check_text(const io::ModelComparison& result, const Verdict& check,
                       const VerifyOptions& options) {
  std::string text =
      fmt::format("limits for {}: SQNR >= {:g} dB", check.kind, check.min_sqnr);
  if (result.agreement) {
    text +=
        fmt::format(", top-1 agreement >= {:g} %", 100 * options.min_agreement);
  }
  if (check.max_flips) {
    text += fmt::format(", changed quantized values <= {:g} %",
                        100 * *check.max_flips);
  }
  return text + "\n";
}

/// Returns a text per violated limit.
std::vector<std::string> failures_of(const io::ModelComparison& result,
                                     double alone, const Verdict& check,
                                     const VerifyOptions& options) {
  std::vector<std::string> failures;
  // Negated: NaN fails.
  if (!(result.output_sqnr() >= check.min_sqnr)) {
    failures.push_back(fmt::format("SQNR is {:.1f} dB, must be at least {:g}",
                                   result.output_sqnr(), check.min_sqnr));
  }
  if (result.agreement && !(*result.agreement >= options.min_agreement)) {
    failures.push_back(
        fmt::format("top-1 agreement is {:.4g}, must be at least {}",
                    *result.agreement, options.min_agreement));
  }
  if (check.max_flips && !(result.flip_share() <= *check.max_flips)) {
    failures.push_back(fmt::format(
        "share of changed quantized values is {:.4g}, must be at most {}",
        result.flip_share(), *check.max_flips));
  }
  if (!(alone <= options.max_batch_error)) {
    failures.push_back(
        fmt::format("batch size 1 differs by {:.3g} of the largest output, "
                    "must be at most {}",
                    alone, options.max_batch_error));
  }
  return failures;
}

void verify(const VerifyOptions& options) {
  if (!is_onnx(options.file.what)) {
    throw UnsupportedError(
        "unsupported_format", options.file.what,
        "not an ONNX file. Hint: octet compare accepts all models");
  }
  const io::OnnxLayout layout = layout_of(options.layout);
  const Tensor x = io::read_npy(options.input);
  if (!options.reference.empty()) {
    check_samples(x, beside(options.file, options.reference));
  }
  const io::TracedModel file = read_traced(options.file);
  const Reference reference = reference_of(options);
  const Verdict check = check_of(options, reference.quantized);
  const io::ModelComparison result = io::compare_models(
      reference.model, file, x, {.batch = options.batch, .layout = layout});
  const double alone = io::batch_difference(
      file, io::samples_as_in(file, reference.model, x, layout)
                .slice(0, std::min(kAlone, x.shape()[0])));
  const auto failures = failures_of(result, alone, check, options);
  if (options.json) {
    Config config = io::to_config(result);
    config.set("batch_1_difference",
               std::isfinite(alone) ? Config(alone) : Config());
    config.set("judged_as", check.kind).set("min_sqnr", check.min_sqnr);
    config.set("failures", Config::List(failures.begin(), failures.end()));
    print(io::to_json(config) + "\n");
  } else {
    print(values_text(result.values) + totals_text(result) +
          fmt::format("changed quantized values: {:.3g} %\nbatch size 1 "
                      "against {}: {:.3g} of the largest output\n",
                      100 * result.flip_share(), std::min(kAlone, x.shape()[0]),
                      alone) +
          check_text(result, check, options));
  }
  if (failures.empty()) return;
  throw ValueError("accuracy_not_met", options.file.what,
                   fmt::format("{}", fmt::join(failures, "; ")));
}

}  // namespace

void add_verify(CommandLine& program) {
  const auto options = std::make_shared<VerifyOptions>();
  Command command = program.add_command(
      "verify", "Compare an ONNX file with a reference model");
  add_model(command, options->file, "ONNX file");
  command.begin_group("Input");
  command
      .add("--input", options->input,
           "samples [N,...] in the axis order of the reference or the file")
      .type("X.npy")
      .required();
  add_layout_option(
      command, options->layout,
      "axis order of samples whose shape fits NHWC and NCHW (default: the "
      "reference's)");
  command
      .add("--reference", options->reference,
           "reference model (default: Octet's import of the file)")
      .type("MODEL");
  command.add("--batch", options->batch, 1, 1 << 20, "batch size")
      .show_default();
  command.begin_group("Tolerances");
  command
      .add("--min-sqnr", options->min_sqnr, -1000, 1000,
           "minimum SQNR of the outputs (default: 40; 15 for INT8 against "
           "float and INT8 in float16)")
      .type("DB");
  command
      .add("--min-agreement", options->min_agreement, 0, 1,
           "minimum top-1 agreement, 0 to 1")
      .show_default();
  command.add("--max-flips", options->max_flips, 0, 1,
              "maximum share of changed quantized values (default: 0.01; "
              "unlimited where 15 dB suffice)");
  command
      .add("--max-batch-error", options->max_batch_error, 0, 1e9,
           "maximum difference between batch sizes, relative to the largest "
           "output")
      .show_default();
  command.begin_group("Output");
  command.add_flag("--json", options->json, "print JSON");
  command.set_footer(
      R"(
Runs the file node by node on the reference executor. The exit code is 1 if a
tolerance is exceeded. A file with Q/DQ compared with a float reference has
quantization noise, so only its outputs are checked. The tolerances in use are
printed.

Examples:
  octet verify int8.onnx --input x.npy
  octet verify int8.onnx --input x.npy --reference float.onnx
  octet verify int8.onnx --input x.npy --reference model.h5 --min-sqnr 30
)");
  command.when_chosen([options] { verify(*options); });
}

}  // namespace octet::program
