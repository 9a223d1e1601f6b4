// octet quantize: calibrates a float model and exports it as INT8.
#include <algorithm>
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
  octet quantize mobilenet.h5 -o int8.onnx --data photos/ --equalize
  octet quantize model.h5 -o int4.onnx --data photos/ --bits 4,8 --pipeline
  octet quantize model.h5 -o mixed.onnx --data x.npy --mean-bits 5
  octet quantize model.h5 -o int8.onnx --data x.npy --policy toolkit --spec s.json
  octet quantize uint8.onnx -o int8.onnx --data x.npy --target tensorrt10 --drop-quantizers
  octet quantize pair.h5 -o int8.onnx --data left=a.npy --data right=b.npy
  octet quantize model.h5 -o int8.onnx --data x.npy --target tensorrt10 --golden
  octet quantize model.h5 -o int8.tflite --data x.npy
  octet quantize model.h5 -o int16.tflite --data x.npy --bits 8,16
)";

struct QuantizeOptions {
  ModelSource model;
  PlacementOptions placement;
  ExportOptions file;
  EngineOptions engine;
  std::string output;
  DataOptions data;
  CalibrationChoice calibration;
  double mean_bits = 0;  // 0: not given
  bool drop_quantizers = false;
  bool pipeline = false;
  double target = -1;  // negative: not given
  bool equalize = false;
  bool no_equalize = false;
  bool keep_unusual = false;
  bool accept = false;
  bool json = false;
};

/// Returns the model with Q/DQ placed by the options. --mean-bits gives
/// sensitive layers 8-bit weights, others 4-bit weights.
Model placed(const Model& model, const Dataset& data, const QuantizeOptions& o,
             std::string& report, Config& figures) {
  if (o.mean_bits == 0) return quantized(model, o.placement);
  if (!o.placement.bits.empty()) {
    throw UnsupportedError("conflicting_options", "--mean-bits",
                           "cannot be combined with --bits");
  }
  if (!policy_of("--policy", o.placement.policy)) {
    throw UnsupportedError(
        "conflicting_options", "--mean-bits",
        "needs --policy tensorrt or toolkit, got " + o.placement.policy);
  }
  PlacementOptions placement = o.placement;
  placement.by_default = false;
  return quantized(
      model, placement, [&](const Model& m, quant::QuantizeOptions options) {
        const quant::MixedPrecision mixed = quant::auto_mixed_precision(
            m, data, {.mean_bits = o.mean_bits, .quantize = options});
        report += mixed.to_string() + "\n";
        Config bits(Config::Object{});
        for (const quant::MixedPrecisionLayer& layer : mixed.layers) {
          bits.set(layer.layer, int64_t{layer.bits});
        }
        figures.set("mean_bits", mixed.mean_bits).set("bits", std::move(bits));
        options.bits = mixed.bits();
        options.weight.rule = quant::ScaleRule::fixed;
        return options;
      });
}

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

/// Returns whether try_equalized() applies: to INT8 calibrated by the automatic
/// choice of a method, unless an option decides about equalization.
bool may_equalize(const QuantizeOptions& o) {
  return !o.equalize && !o.no_equalize && !o.pipeline && o.mean_bits == 0 &&
         o.calibration.method == "auto" &&
         format_of(o.placement) == Format::int8;
}

/// Replaces `int8` by the quantized equalized model if that has a higher output
/// SQNR. Returns the result as text, empty if `int8` is unchanged.
std::string try_equalized(const Model& model, Model& int8, const Dataset& data,
                          const QuantizeOptions& o, bool few_bits,
                          Config& figures) {
  constexpr double kGood = 30, kGain = 3;  // dB
  constexpr int64_t kCompared = 256;
  const Dataset samples = data.sample(kCompared);
  const double before = quant::compare_outputs(model, int8, samples).sqnr();
  if (before >= kGood) return {};
  std::optional<Calibrated> other =
      calibrated_equalized(model, data,
                           {.placement = o.placement,
                            .calibration = o.calibration,
                            .few_bits = few_bits});
  if (!other) return {};
  const double after =
      quant::compare_outputs(model, other->model, samples).sqnr();
  const bool better = after > before + kGain;
  figures.set("equalized", better);
  if (!better) return {};
  int8 = std::move(other->model);
  return fmt::format(
      "\nequalized channel ranges: output SQNR {:.1f} dB instead of {:.1f} dB "
      "(--no-equalize: without)\n{}",
      after, before, other->report);
}

/// Returns the calibration samples.
Dataset calibration_data(const Dataset& all,
                         const std::vector<std::string>& files,
                         QuantizeOptions& o, Config& figures) {
  if (o.keep_unusual) {
    o.calibration.checked = true;
    return all;
  }
  // With --pipeline, --samples applies to its methods.
  CalibrationChoice everything;
  quant::CheckedSamples checked =
      usual_samples(all, o.pipeline ? everything : o.calibration, files);
  Config::List ignored;
  for (const quant::UnusualSample& sample : checked.unusual) {
    Config entry;
    entry.set("index", sample.index)
        .set("input", sample.input)
        .set("reason", sample.reason);
    if (!files.empty()) {
      entry.set("file", files[static_cast<size_t>(sample.index)]);
    }
    ignored.push_back(std::move(entry));
  }
  figures.set("ignored_samples", std::move(ignored));
  return std::move(checked.usual);
}

/// Labels serve evaluation, which supports classes only.
void check_labels(const QuantizeOptions& o, const Dataset& data) {
  if (o.data.labels.empty() || data.label_specs().empty()) return;
  for (const TensorSpec& label : data.label_specs()) {
    if (label.dtype == DType::i64) continue;
    throw FormatError(
        "dtype_mismatch", "--labels",
        fmt::format(
            "'{}' must be class labels int64 [N], got {}{}",
            fmt::join(o.data.labels, "', '"), type_name(label.dtype),
            io::labels_hint(data.label_specs().size() == 1 ? data.labels()
                                                           : Tensor())));
  }
}

/// What was written, for people and for --json.
struct Written {
  std::string text;
  Config figures;
};

Written write(const Model& model, const QuantizeOptions& o,
              const io::OnnxExportOptions& names, const Dataset& samples) {
  Written written;
  if (is_tflite(o.output)) {
    const io::TfliteReport report =
        io::export_tflite(model, o.output, tflite_options(o.file, names));
    add_report(written.figures, report);
    written.text = to_text(o.output, report);
    return written;
  }
  const io::OnnxExportOptions form = onnx_options(o.file, names);
  const io::OnnxExportReport file = io::export_onnx(model, o.output, form);
  written.figures.set("nodes", file.nodes)
      .set("qdq_pairs", file.qdq_pairs)
      .set("bytes", file.bytes);
  written.text = fmt::format("{}: {} nodes, {} Q/DQ pairs, {} bytes\n",
                             o.output, file.nodes, file.qdq_pairs, file.bytes) +
                 write_engine_files(o.output, form.target, o.engine,
                                    o.file.from_bytes ? nullptr : &samples,
                                    o.model.limits());
  return written;
}

void quantize(QuantizeOptions o) {
  constexpr int64_t kUsual = 1024;
  check_output(o.output);
  check_method(o.calibration);
  const bool tflite = is_tflite(o.output);
  if (!tflite) o.file.layout = o.data.layout;
  choose_format(o.output, o.file, &o.placement);
  if (!tflite) (void)onnx_options(o.file, {});
  choose_policy(o.placement, o.file.target);
  check_reader(o.placement, o.file.target);
  check_engine_options(o.engine);
  warn_of_untrained(o.model);
  if (o.drop_quantizers) o.model.quantizers = ModelSource::Quantizers::drop;
  const Model model = read_model(o.model);
  const DataTarget target = target_of(model, o.model);
  const io::OpenedData opened = open_data(o.data, target);
  const std::string preprocess = preprocess_to_keep(opened, o.data, target);
  const std::string takes = preprocess.empty() ? target.takes : preprocess;
  (void)as_written(model.clone(), o.file, takes);  // reports errors early
  check_classes(model, o.model, opened);
  check_labels(o, opened.train);
  // A .npy file is used completely.
  if (o.calibration.samples == 0 && opened.kind != "a .npy file" &&
      opened.kind != ".npy files") {
    o.calibration.samples = std::min(kUsual, opened.train.size());
  }
  const Dataset all = data_for("quantize", model, opened.train);
  if (!o.json) print(describe("samples", all, opened, o.data, target));
  std::string report;
  Config figures(Config::Object{});
  const Dataset data = calibration_data(all, opened.files, o, figures);
  const bool few_bits = (!o.placement.bits.empty() && !o.placement.int16()) ||
                        o.mean_bits > 0 ||
                        format_of(o.placement) == Format::w4a16;
  std::optional<Model> like_channels;
  if (o.equalize) like_channels = equalized(model, "--equalize");
  const Model& source = like_channels ? *like_channels : model;
  Model int8 = o.pipeline ? run_pipeline(source, data, o, report, figures)
                          : placed(source, data, o, report, figures);
  if (!o.pipeline) report += calibrate(int8, data, o.calibration, few_bits);
  const bool tries = may_equalize(o);
  if (tries) report += try_equalized(model, int8, data, o, few_bits, figures);
  if (!o.json) print(report);
  const EvaluationSamples samples_to_compare =
      evaluation_samples(model, opened);
  QuantizationCheck check = check_quantization(model, int8, samples_to_compare);
  if (check.before) {
    warn_of_class_order("quantize", model, samples_to_compare.samples, opened,
                        check.before->accuracy);
  }
  if (!check.problems.empty()) {
    check.hints = find_hints(model, int8, data,
                             {.placement = o.placement,
                              .calibration = o.calibration,
                              .equalized = o.equalize || tries,
                              .few_bits = few_bits,
                              .calibrated = !o.pipeline && o.mean_bits == 0});
  }
  const Model written = as_written(int8.clone(), o.file, takes);
  io::OnnxExportOptions names = names_of(o.model, written);
  names.preprocess = preprocess;
  names.resize = resize_to_keep(opened, o.data, target);
  if (std::ssize(opened.classes) == model.outputs()[0].shape()[-1]) {
    names.classes = opened.classes;
  }
  const Written file = write(written, o, names, all);
  if (o.json) {
    Config config = to_config(check);
    add_inputs(config, opened, o.data, target);
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
  const Option equalize = command.add_flag(
      "--equalize", o.equalize,
      "fold batch normalization and equalize channel ranges across layers "
      "first (default: tried if the output SQNR is below 30 dB, and used if "
      "that gains 3 dB)");
  Option(equalize).excludes(pipeline);
  Option(command.add_flag("--no-equalize", o.no_equalize,
                          "never equalize channel ranges"))
      .excludes(pipeline)
      .excludes(equalize);
  command.begin_group("Calibration");
  Option(command.add_flag("--keep-unusual", o.keep_unusual,
                          "also calibrate on unusual samples (see below)"))
      .excludes(pipeline);
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
