// octet quantize: calibrates a float model and exports it as INT8.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/io/detail/checks.h>
#include <octet/io/json.h>
#include <octet/io/onnx.h>
#include <octet/layers/detail/model_data.h>
#include <octet/quant/post_training.h>
#include <octet/runtime/error.h>

#include "../common/program.h"
#include "calibration_options.h"
#include "class_order.h"
#include "commands.h"
#include "data_options.h"
#include "engine_files.h"
#include "export_options.h"
#include "io_names.h"
#include "loss_options.h"
#include "placement_options.h"
#include "quantization_check.h"
#include "quantization_hints.h"
#include "quantize_job.h"
#include "read_model.h"
#include "tflite_output.h"
#include "write_results.h"

namespace octet::program {
namespace {

constexpr const char* kQuantizeNotes = R"(
Calibration:
  A few hundred samples suffice. A quarter of them is held out to select the
  method by output error; with labels, accuracy is reported as well. Unusual
  samples (one pixel of 10^6, NaN) are reported and ignored. If the output SQNR
  is below 30 dB, the model is equalized as well (--equalize) and the better
  result written. --pipeline tries calibration, equalization, bias correction,
  second-order rounding, AdaRound and block reconstruction.

Exit code:
  1 if the output SQNR is below 15 dB, if more than 10 % of the samples change
  their class, or if the accuracy falls by more than 5 points. The file is
  written in any case, and the message names options that help. With --accept,
  the exit code is 0.
)";

constexpr const char* kQuantizeExamples = R"(
Examples:
  octet quantize model.keras -o int8.onnx --data x.npy --labels l.npy
  octet quantize model.h5 -o int8.onnx --data photos/ --exclude "head.*"
  octet quantize resnet18.onnx -o int8.onnx --data x.npy --method entropy
  octet quantize mobilenet.h5 -o int8.onnx --data photos/ --equalize \
    --bias-correction
  octet quantize model.h5 -o int4.onnx --data photos/ --bits 4,8 --pipeline
  octet quantize model.h5 -o mixed.onnx --data x.npy --mean-bits 5
  octet quantize model.h5 -o int8.onnx --data x.npy --policy toolkit --spec s.json
  octet quantize uint8.onnx -o int8.onnx --data x.npy --target tensorrt10 --drop-quantizers
  octet quantize pair.h5 -o int8.onnx --data left=a.npy --data right=b.npy
  octet quantize model.h5 -o int8.onnx --data x.npy --target tensorrt10 --golden
  octet quantize model.h5 -o int8.tflite --data x.npy
  octet quantize model.h5 -o int16.tflite --data x.npy --bits 8,16
)";

/// Runs the PTQ pipeline. Stops at --accuracy, else selects the best stage.
Model run_pipeline(const Model& model, const Dataset& data,
                   const QuantizeOptions& o, std::string& report,
                   Config& figures) {
  if (o.target >= 0 && data.label_specs().empty()) {
    throw ValueError(
        "missing_value", "--accuracy",
        "needs labeled samples. Hint: add --labels, or use a folder per class");
  }
  quant::PtqPipelineOptions options;
  options.place = [&](const Model& folded) {
    return with_context(
        [] { return "with batch normalization folded by --pipeline"; },
        [&] {
          return quantized(folded, o.placement,
                           [](const Model&, quant::QuantizeOptions fixed) {
                             fixed.weight.rule = quant::ScaleRule::fixed;
                             return fixed;
                           });
        });
  };
  if (o.calibration.samples > 0)
    options.methods.samples = o.calibration.samples;
  if (model.outputs().size() == 1 && data.label_specs().size() == 1 &&
      data.label_type() == DType::i64 && model.outputs()[0].shape()[-1] == 1) {
    options.check = score_of(measured_by({}, model, data));
  }
  quant::PtqPipeline result = quant::ptq_pipeline(
      model, data, o.target < 0 ? std::nullopt : std::optional(o.target),
      options);
  report = result.to_string();
  figures.set("selected", result.selected);
  if (result.target) {
    figures.set("target", *result.target).set("target_met", result.met);
  }
  return std::move(result.model);
}

void quantize(QuantizeOptions o) {
  Config figures(Config::Object{});
  const QuantizeInputs in = open_inputs(o, figures);
  const Dataset& data = in.calibration;
  std::string report;
  const Model int8 = o.pipeline
                         ? run_pipeline(in.model, data, o, report, figures)
                         : quantized_by_recipe(o, in, report, figures);
  if (!o.json) print(report);
  const EvaluationSamples samples_to_compare =
      evaluation_samples(in.model, in.opened);
  QuantizationCheck check =
      check_quantization(in.model, int8, samples_to_compare);
  if (check.before) {
    warn_of_class_order("quantize", in.model, samples_to_compare.samples,
                        in.opened, check.before->accuracy);
  }
  if (!check.problems.empty()) {
    check.hints = find_hints(in.model, int8, data,
                             {.placement = o.placement,
                              .calibration = o.calibration,
                              .equalized = o.recipe.equalize || may_equalize(o),
                              .few_bits = o.few_bits(),
                              .calibrated = !o.pipeline && o.mean_bits == 0});
  }
  const Written file = write_quantized(int8, o, in);
  if (o.json) {
    Config config = to_config(check);
    add_inputs(config, in.opened, o.data, in.target);
    for (const auto& [key, value] : figures.as_object()) config.set(key, value);
    config.set("output", o.output);
    for (const auto& [key, value] : file.figures.as_object()) {
      config.set(key, value);
    }
    print(io::to_json(config) + "\n");
  } else {
    print(to_text(check));
    print(file.text);
  }
  expect_worth(check, o.output, o.accept);
  if (!o.pipeline || o.target < 0 || figures.at("target_met").as_bool()) return;
  throw ValueError("accuracy_not_met", "--accuracy",
                   fmt::format("no method reached {:g}; the best model is in "
                               "'{}'. Hint: use octet qat",
                               o.target, o.output));
}

}  // namespace

void add_quantize(CommandLine& program) {
  const auto options = std::make_shared<QuantizeOptions>();
  QuantizeOptions& o = *options;
  Command command = program.add_command(
      "quantize",
      "Quantize a model to INT8 and export it as ONNX or TensorFlow Lite");
  add_model(command, o.model, kModelHelp);
  command.begin_group("Output");
  command
      .add("-o,--output,output", o.output,
           "output file, as argument or with -o")
      .type("OUT.onnx|OUT.tflite")
      .required()
      .writes({".onnx", ".tflite"});
  add_data_options(command, o.data, LabelKinds::classes);
  const Option method = add_calibration_options(command, o.calibration);
  command.begin_group("Quantization");
  command.add_flag("--drop-quantizers", o.drop_quantizers,
                   "remove the Q/DQ of a quantized ONNX file and quantize it "
                   "anew, with the values of its quantized weights");
  const Option pipeline = command.add_flag(
      "--pipeline", o.pipeline,
      "try post-training methods in order and select the one with the smallest "
      "output error (PTQ pipeline)");
  command
      .add("--accuracy", o.target, 0, 1,
           "accuracy at which --pipeline stops; exit code 1 if no method "
           "reaches "
           "it")
      .needs(pipeline);
  Option(method).excludes(pipeline);
  command
      .add("--mean-bits", o.mean_bits, 4, 8,
           "mean bit width of weights: 8 for sensitive layers, 4 for others")
      .excludes(pipeline);
  for (Option& option : add_recipe_switches(command, o.recipe)) {
    option.excludes(pipeline);
  }
  command.begin_group("Calibration");
  Option(command.add_flag("--keep-unusual", o.keep_unusual,
                          "also calibrate on unusual samples (see below)"))
      .excludes(pipeline);
  command.begin_group("Input");
  command
      .add("--validation", o.validation,
           "share of the samples, held out for the quality check (default: the "
           "data's test part, else the calibration samples)")
      .type("SHARE")
      .check([](const std::string& text) {
        char* end = nullptr;
        const double share = std::strtod(text.c_str(), &end);
        const bool fits = *end == '\0' && share > 0 && share < 1;
        return fits ? "" : "must be a share in (0,1), got " + text;
      });
  command
      .add("--seed", o.seed, 0, int64_t{1} << 31,
           "seed of --validation and of the samples of post-training methods")
      .show_default();
  add_accept_option(command, o.accept);
  command.add_flag("--json", o.json, "print JSON");
  add_placement_options(command, o.placement);
  add_export_options(command, o.file);
  add_engine_options(command, o.engine, o.output);
  command.set_footer(
      (std::string(kQuantizeNotes) + kDataHelp + kImageHelp + kQuantizeExamples)
          .c_str());
  command.when_chosen([options] { quantize(*options); });
}

}  // namespace octet::program
