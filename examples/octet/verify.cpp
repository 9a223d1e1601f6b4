#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/io/json.h>
#include <octet/io/npy.h>
#include <octet/io/onnx_import.h>
#include <octet/runtime/error.h>

#include "../program.h"
#include "commands.h"
#include "comparison_text.h"

namespace octet::program {
namespace {

/// Samples that are run alone, too.
constexpr int64_t kAlone = 8;

struct VerifyOptions {
  ModelSource file;
  std::string input;
  std::string reference;
  int64_t batch = 16;
  double min_sqnr = 40;
  double min_agreement = 0.99;
  double max_flips = 0.01;
  double max_batch_error = 1e-4;
  bool json = false;
};

/// The tolerances that are passed, each in words.
std::vector<std::string> failures_of(const io::Comparison& result, double alone,
                                     const VerifyOptions& options) {
  std::vector<std::string> failures;
  // Written so that NaN fails.
  if (!(result.output_sqnr() >= options.min_sqnr)) {
    failures.push_back(fmt::format("SQNR {:.1f} dB, expected {} at least",
                                   result.output_sqnr(), options.min_sqnr));
  }
  if (result.agreement && !(*result.agreement >= options.min_agreement)) {
    failures.push_back(fmt::format("same class in {:.4g}, expected {} at least",
                                   *result.agreement, options.min_agreement));
  }
  if (!(result.flip_share() <= options.max_flips)) {
    failures.push_back(fmt::format("code flips {:.4g}, expected {} at most",
                                   result.flip_share(), options.max_flips));
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
  const Tensor x = io::read_npy(options.input);
  const io::TracedModel file = read_traced(options.file);
  ModelSource source = options.file;
  if (!options.reference.empty()) source.what = options.reference;
  const io::TracedModel reference =
      options.reference.empty()
          ? io::TracedModel(io::load_onnx(source.what,
                                          {.input_shapes = input_shapes(source),
                                           .limits = source.limits()}))
          : read_traced(source);
  const io::Comparison result =
      io::compare_models(reference, file, x, {.batch = options.batch});
  const double alone =
      io::batch_difference(file, io::samples_as_in(file, reference, x)
                                     .slice(0, std::min(kAlone, x.shape()[0])));
  const auto failures = failures_of(result, alone, options);
  if (options.json) {
    Config config = io::to_config(result);
    config.set("batch_1_difference",
               std::isfinite(alone) ? Config(alone) : Config());
    config.set("failures", Config::List(failures.begin(), failures.end()));
    print(io::to_json(config) + "\n");
  } else {
    print(values_text(result.values) + totals_text(result) +
          fmt::format("code flips: {:.3g} %\nbatch 1 against {}: {:.3g} of the "
                      "largest output\n",
                      100 * result.flip_share(), std::min(kAlone, x.shape()[0]),
                      alone));
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
      "Hold an ONNX file, run node by node, against another model or against "
      "the layers that Octet reads it as");
  add_model(command, options->file, "an ONNX file");
  command
      .add("--input", options->input,
           "X.npy: float32 [N,...], in the layout of the file or of the "
           "reference")
      .type("X.npy")
      .required();
  command
      .add("--reference", options->reference,
           "zoo:NAME, or a file of Keras, Octet or ONNX [the file itself, as "
           "layers]")
      .type("MODEL");
  command.add("--batch", options->batch, 1, 1 << 20,
              "samples to run at a time [16]");
  command.add("--min-sqnr", options->min_sqnr, -1000, 1000,
              "dB that the outputs must have [40]");
  command.add("--min-agreement", options->min_agreement, 0, 1,
              "share of samples that must have the same class [0.99]");
  command.add("--max-flips", options->max_flips, 0, 1,
              "share of codes that may be others [0.01]");
  command.add("--max-batch-error", options->max_batch_error, 0, 1e9,
              "share of the largest output by which samples alone may differ "
              "[0.0001]");
  command.add_flag("--json", options->json, "print JSON instead of a table");
  command.set_footer(
      R"(Exit code 1 past a tolerance. An INT8 file against its float model needs lower
ones: --min-sqnr 20 --max-flips 1.

Examples:
  octet verify int8.onnx --input x.npy
  octet verify int8.onnx --input x.npy --reference model.h5 --min-sqnr 20 --max-flips 1
)");
  command.when_chosen([options] { verify(*options); });
}

}  // namespace octet::program
