#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/io/json.h>
#include <octet/io/npy.h>
#include <octet/io/onnx_import.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

#include "../program.h"
#include "commands.h"
#include "comparison_text.h"
#include "io_names.h"
#include "sample_layout.h"

namespace octet::program {
namespace {

/// Samples that are also run one at a time.
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
  double max_flips = -1;  // below 0: not given
  double max_batch_error = 1e-4;
  bool json = false;
};

/// What a file is judged by.
struct Judgment {
  std::string kind;  ///< what is compared, in words
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

/// The other model, or the file itself as layers.
Reference reference_of(const VerifyOptions& options) {
  ModelSource source = options.file;
  if (!options.reference.empty()) {
    source.what = options.reference;
    if (is_onnx(source.what)) {
      return {read_traced(source), has_pairs(source.what)};
    }
  }
  Model model = read_model(source);
  const bool quantized = !quant::quantizers(model).empty();
  const io::OnnxInterface interface =
      options.reference.empty() ? interface_of(source) : io::OnnxInterface();
  return {io::TracedModel(std::move(model), interface), quantized};
}

/// Quantized values are compared with quantized ones, floats with floats; INT8
/// against float has the noise of quantization.
Judgment judgment_of(const VerifyOptions& options, bool quantized,
                     bool reference_quantized) {
  constexpr double kSame = 40, kQuantized = 15;  // dB
  constexpr double kFlips = 0.01;
  const bool int8_to_float = quantized && !reference_quantized;
  Judgment judgment{int8_to_float ? "INT8 against float"
                    : quantized   ? "quantized values against quantized values"
                                  : "float against float",
                    options.min_sqnr > kNotGiven ? options.min_sqnr
                    : int8_to_float              ? kQuantized
                                                 : kSame,
                    std::nullopt};
  if (options.max_flips >= 0) {
    judgment.max_flips = options.max_flips;
  } else if (!int8_to_float) {
    judgment.max_flips = kFlips;
  }
  return judgment;
}

std::string judgment_text(const io::Comparison& result,
                          const Judgment& judgment,
                          const VerifyOptions& options) {
  std::string text = fmt::format("judged as {}: SQNR >= {:g} dB", judgment.kind,
                                 judgment.min_sqnr);
  if (result.agreement) {
    text += fmt::format(", same class >= {:g} %", 100 * options.min_agreement);
  }
  if (judgment.max_flips) {
    text += fmt::format(", quantized values that differ <= {:g} %",
                        100 * *judgment.max_flips);
  }
  return text + "\n";
}

/// The limits that are passed, each in words.
std::vector<std::string> failures_of(const io::Comparison& result, double alone,
                                     const Judgment& judgment,
                                     const VerifyOptions& options) {
  std::vector<std::string> failures;
  // Written so that NaN fails.
  if (!(result.output_sqnr() >= judgment.min_sqnr)) {
    failures.push_back(fmt::format("SQNR {:.1f} dB, expected {:g} at least",
                                   result.output_sqnr(), judgment.min_sqnr));
  }
  if (result.agreement && !(*result.agreement >= options.min_agreement)) {
    failures.push_back(fmt::format("same class in {:.4g}, expected {} at least",
                                   *result.agreement, options.min_agreement));
  }
  if (judgment.max_flips && !(result.flip_share() <= *judgment.max_flips)) {
    failures.push_back(
        fmt::format("quantized values that differ {:.4g}, expected {} at most",
                    result.flip_share(), *judgment.max_flips));
  }
  if (!(alone <= options.max_batch_error)) {
    failures.push_back(fmt::format(
        "batch 1 differs by {:.3g} of the largest output, expected {} at most",
        alone, options.max_batch_error));
  }
  return failures;
}

void verify(const VerifyOptions& options) {
  if (!is_onnx(options.file.what)) {
    throw UnsupportedError(
        fmt::format("'{}': expected an ONNX file. Hint: octet compare takes "
                    "models of any kind",
                    options.file.what));
  }
  const io::OnnxLayout layout = layout_of(options.layout);
  const Tensor x = io::read_npy(options.input);
  if (!options.reference.empty()) {
    check_samples(x, beside(options.file, options.reference));
  }
  const io::TracedModel file = read_traced(options.file);
  const Reference reference = reference_of(options);
  const Judgment judgment =
      judgment_of(options, has_pairs(options.file.what), reference.quantized);
  const io::Comparison result = io::compare_models(
      reference.model, file, x, {.batch = options.batch, .layout = layout});
  const double alone = io::batch_difference(
      file, io::samples_as_in(file, reference.model, x, layout)
                .slice(0, std::min(kAlone, x.shape()[0])));
  const auto failures = failures_of(result, alone, judgment, options);
  if (options.json) {
    Config config = io::to_config(result);
    config.set("batch_1_difference",
               std::isfinite(alone) ? Config(alone) : Config());
    config.set("judged_as", judgment.kind).set("min_sqnr", judgment.min_sqnr);
    config.set("failures", Config::List(failures.begin(), failures.end()));
    print(io::to_json(config) + "\n");
  } else {
    print(values_text(result.values) + totals_text(result) +
          fmt::format("quantized values that differ: {:.3g} %\nbatch 1 against "
                      "{}: {:.3g} of the largest output\n",
                      100 * result.flip_share(), std::min(kAlone, x.shape()[0]),
                      alone) +
          judgment_text(result, judgment, options));
  }
  if (failures.empty()) return;
  throw ValueError(
      fmt::format("'{}': {}", options.file.what, fmt::join(failures, "; ")));
}

}  // namespace

void add_verify(CommandLine& program) {
  const auto options = std::make_shared<VerifyOptions>();
  Command command = program.add_command(
      "verify",
      "Compare an ONNX file, run node by node, with a reference model, or with "
      "Octet's import of the same file");
  add_model(command, options->file, "an ONNX file");
  command
      .add("--input", options->input,
           "X.npy: [N,...], in the axis order of the reference or of the file; "
           "the other one of channels first and last where the shape tells")
      .type("X.npy")
      .required();
  add_layout_option(command, options->layout,
                    "axis order of the samples, where their shape fits both "
                    "[that of the reference]");
  command
      .add("--reference", options->reference,
           "zoo:NAME, or a file of Keras, Octet or ONNX [the file itself, as "
           "layers]")
      .type("MODEL");
  command.add("--batch", options->batch, 1, 1 << 20,
              "samples to run at a time [16]");
  command.add("--min-sqnr", options->min_sqnr, -1000, 1000,
              "least SQNR of the outputs in dB [15 for INT8 against float, "
              "else 40]");
  command.add("--min-agreement", options->min_agreement, 0, 1,
              "least share of samples with the same class [0.99]");
  command.add("--max-flips", options->max_flips, 0, 1,
              "largest share of quantized values that differ [0.01; any for "
              "INT8 against float]");
  command.add("--max-batch-error", options->max_batch_error, 0, 1e9,
              "largest difference of samples that run alone, as a share of the "
              "largest output [0.0001]");
  command.add_flag("--json", options->json, "print JSON instead of a table");
  command.set_footer(
      R"(Exit code 1 past a limit. A file with Q/DQ against a reference without has the
noise of quantization: it is judged by the outputs alone, and the limits that
were used are printed.

Examples:
  octet verify int8.onnx --input x.npy
  octet verify int8.onnx --input x.npy --reference float.onnx
  octet verify int8.onnx --input x.npy --reference model.h5 --min-sqnr 30
)");
  command.when_chosen([options] { verify(*options); });
}

}  // namespace octet::program
