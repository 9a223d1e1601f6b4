// Quality check of a quantized model, for commands that write one.
//
//   const QuantizationCheck found =
//       check_quantization(model, int8, {samples, true});
//   print(to_text(found));
//   expect_worth(found, "out.onnx", o.accept);  // at the end
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <octet/io/data.h>
#include <octet/layers/model.h>
#include <octet/quant/sensitivity.h>
#include <octet/runtime/config.h>
#include <octet/runtime/dataset.h>
#include <octet/train/evaluate.h>

#include "../common/command_line.h"

namespace octet::program {

/// Samples for the quality check.
struct EvaluationSamples {
  Dataset samples;
  bool others = false;  ///< the samples were not used in calibration
};

/// Returns up to 2048 samples of the test part, else of all samples, without
/// unusual samples (quant::check_samples()).
EvaluationSamples evaluation_samples(const Model& model,
                                     const io::OpenedData& data);

/// Quality of a quantized model compared with its float model.
struct QuantizationCheck {
  int64_t samples = 0;
  bool others = false;
  quant::OutputComparison outputs = {};
  /// Loss and metrics of the float and the quantized model, if there are
  /// labels.
  std::optional<train::Evaluation> before = {}, after = {};
  std::vector<std::string> problems = {};  ///< empty: passed
  std::vector<std::string> hints = {};     ///< helpful options, with figures
};

/// Compares outputs, and metrics if there are labels. Problems are outputs
/// below 15 dB or with less than 90 % of the float model's classes
/// (quant::compare_outputs()), and share metrics that fall by more than 5
/// points and at least two samples.
QuantizationCheck check_quantization(const Model& model, const Model& quantized,
                                     const EvaluationSamples& data);

/// Returns the figures as lines of text, or as JSON fields.
std::string to_text(const QuantizationCheck& check);
Config to_config(const QuantizationCheck& check);

/// Adds --accept.
void add_accept_option(Command& command, bool& accept);

/// Throws a ValueError with the problems of the file `output` and helpful
/// options. With `accept`, logs a warning instead.
void expect_worth(const QuantizationCheck& check, const std::string& output,
                  bool accept);

/// Checks a fine-tuned model without an accuracy.
/// Throws: ValueError if its loss is more than twice the float model's and its
/// outputs fail quant::compare_outputs(). `output` is its file.
void expect_outputs(const Model& model, const Model& tuned,
                    const Dataset& samples, double loss_before,
                    double loss_after, const std::string& output);

}  // namespace octet::program
