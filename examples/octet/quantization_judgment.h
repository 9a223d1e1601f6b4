// Whether a quantized model is worth delivering, as the commands that write one
// judge it.
//
//   const QuantizationJudgment found = judge(model, int8, {samples, true});
//   print(to_text(found));
//   expect_worth(found, "out.onnx", o.accept);  // at the end
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <octet/io/open_data.h>
#include <octet/layers/model.h>
#include <octet/quant/judge_outputs.h>
#include <octet/runtime/config.h>
#include <octet/runtime/dataset.h>
#include <octet/train/evaluate.h>

#include "../command_line.h"

namespace octet::program {

/// Samples to judge by.
struct JudgingSamples {
  Dataset samples;
  bool others = false;  ///< the model was not calibrated on them
};

/// Up to 2048 samples of the test part, or of all samples without one; unusual
/// ones (quant::check_samples()) left out.
JudgingSamples judging_samples(const Model& model, const io::OpenedData& data);

/// A quantized model beside the float model it came from.
struct QuantizationJudgment {
  int64_t samples = 0;
  bool others = false;
  quant::OutputJudgment outputs = {};
  /// Loss and metrics where there are labels, float and quantized.
  std::optional<train::Evaluation> before = {}, after = {};
  std::vector<std::string> problems = {};  ///< none: worth delivering
  std::vector<std::string> cures = {};     ///< options that help, with figures
};

/// Compares outputs, and metrics where there are labels. It is a problem if an
/// output has less than 15 dB or 90 % of the float model's classes
/// (quant::judge_outputs()), or if a metric that is a share falls by more than
/// 5 points and by two samples at least.
QuantizationJudgment judge(const Model& model, const Model& quantized,
                           const JudgingSamples& data);

/// Figures as lines of text, and as fields of JSON.
std::string to_text(const QuantizationJudgment& judgment);
Config to_config(const QuantizationJudgment& judgment);

/// Adds --accept.
void add_accept_option(Command& command, bool& accept);

/// Throws a ValueError that names the problems of `output`, a file that was
/// written, and the cures; with `accept` logs them as a warning.
void expect_worth(const QuantizationJudgment& judgment,
                  const std::string& output, bool accept);

/// Of a fine-tuned model that has no accuracy.
/// Throws: ValueError if its loss is more than twice that of the float model,
/// and its outputs fail quant::judge_outputs(). `output` is its file.
void expect_outputs(const Model& model, const Model& tuned,
                    const Dataset& samples, double loss_before,
                    double loss_after, const std::string& output);

}  // namespace octet::program
