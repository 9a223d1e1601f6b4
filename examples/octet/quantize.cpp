// octet quantize: from a float model and samples to a file for TensorRT.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/io/json.h>
#include <octet/io/onnx.h>
#include <octet/layers/model_data.h>
#include <octet/quant/auto_mixed.h>
#include <octet/quant/ptq_ladder.h>
#include <octet/runtime/error.h>
#include <octet/train/evaluate.h>

#include "../program.h"
#include "calibration_options.h"
#include "class_order.h"
#include "commands.h"
#include "data_options.h"
#include "engine_files.h"
#include "export_options.h"
#include "loss_options.h"
#include "placement_options.h"
#include "read_model.h"
#include "same_order.h"

namespace octet::program {
namespace {

constexpr const char* kExamples =
    R"(  A few hundred samples do. With classes a quarter of them judges the methods by
  accuracy, else each tensor gets the method with the least error.

Examples:
  octet quantize model.keras -o int8.onnx --data x.npy --labels l.npy
  octet quantize model.h5 -o int8.onnx --data photos/ --exclude "head.*"
  octet quantize resnet18.onnx -o int8.onnx --data x_nhwc.npy --method entropy
  octet quantize model.h5 -o int4.onnx --data photos/ --bits 4,8 --ladder
  octet quantize model.h5 -o mixed.onnx --data x.npy --mean-bits 5
  octet quantize model.h5 -o int8.onnx --data x.npy --policy toolkit --spec s.json
  octet quantize pair.h5 -o int8.onnx --data left=a.npy --data right=b.npy
  octet quantize model.h5 -o int8.onnx --data x.npy --target tensorrt10 --golden
)";

struct Options {
  ModelSource model;
  PlacementOptions placement;
  ExportOptions file;
  EngineOptions engine;
  std::string output;
  DataOptions data;
  CalibrationChoice calibration;
  double mean_bits = 0;  // 0: not given
  bool ladder = false;
  double target = -1;  // below 0: a little below the float model's
  bool json = false;
};

/// Q/DQ by the options; with --mean-bits its weights in 8 or 4 bits, as they
/// bear it.
Model placed(const Model& model, const Dataset& data, const Options& o,
             std::string& report, Config& figures) {
  if (o.mean_bits == 0) return quantized(model, o.placement);
  if (!o.placement.bits.empty()) {
    throw UnsupportedError("--mean-bits: expected no --bits, got both");
  }
  if (!policy_of("--policy", o.placement.policy)) {
    throw UnsupportedError(
        "--mean-bits: expected --policy tensorrt or toolkit, got " +
        o.placement.policy);
  }
  return quantized(
      model, o.placement, [&](const Model& m, quant::QuantizeOptions options) {
        const quant::MixedPrecision mixed = quant::auto_mixed(
            m, data, {.mean_bits = o.mean_bits, .quantize = options});
        report += mixed.to_string() + "\n";
        Config bits(Config::Object{});
        for (const quant::MixedLayer& layer : mixed.layers) {
          bits.set(layer.layer, int64_t{layer.bits});
        }
        figures.set("mean_bits", mixed.mean_bits).set("bits", std::move(bits));
        options.bits = mixed.bits();
        options.weight.rule = quant::ScaleRule::fixed;
        return options;
      });
}

/// Post-training methods until the accuracy is that of --accuracy.
Model climb(const Model& model, const Dataset& data, const Options& o,
            std::string& report, Config& figures) {
  constexpr double kMayLose = 0.005;
  if (data.label_specs().empty()) {
    throw ValueError(
        "--ladder: expected samples with labels to judge by, got none. Hint: "
        "--labels, or a folder for each class");
  }
  quant::LadderOptions options;
  options.place = [&](const Model& folded) {
    return with_context(
        [] { return "with batch normalization folded, as --ladder does"; },
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
  options.below_float = o.target < 0;
  if (model.outputs().size() == 1 && data.label_type() == DType::i64 &&
      model.outputs()[0].shape()[-1] == 1) {
    options.score = score_of(measured_by({}, model, data));
  }
  quant::Ladder ladder = quant::ptq_ladder(
      model, data, options.below_float ? kMayLose : o.target, options);
  report = ladder.to_string();
  figures.set("target", ladder.target)
      .set("target_met", ladder.met)
      .set("kept", ladder.kept);
  return std::move(ladder.model);
}

/// The quantized model beside the float one, on samples that it was not
/// calibrated on where there are such.
struct Compared {
  Dataset samples;
  bool others;  ///< than those of calibration
  double sqnr;
  std::optional<train::Evaluation> before, after;
};

Compared compare(const Model& model, const Model& int8,
                 const io::OpenedData& data) {
  constexpr int64_t kMost = 2048;
  Compared result{.samples = data_for("quantize", model,
                                      data.test ? *data.test : data.train)
                                 .sample(kMost),
                  .others = data.test.has_value(),
                  .sqnr = 0,
                  .before = {},
                  .after = {}};
  double signal = 0, noise = 0;
  const std::vector<Tensor> y = train::predict_all(model, result.samples);
  const std::vector<Tensor> q = train::predict_all(int8, result.samples);
  for (size_t i = 0; i < y.size(); ++i) {
    for (size_t k = 0; k < y[i].f32().size(); ++k) {
      const double value = y[i].f32()[k];
      const double error = value - double{q[i].f32()[k]};
      signal += value * value;
      noise += error * error;
    }
  }
  result.sqnr = 10 * std::log10(signal / noise);
  const std::vector<TensorSpec> labels = result.samples.label_specs();
  // Of a folder of images nobody knows which output they are of.
  if (!labels.empty() &&
      (model.outputs().size() == 1 || !labels[0].name.empty())) {
    const Measured by = measured_by({}, model, result.samples);
    const train::EvaluateOptions options{.loss = by.loss, .verbose = false};
    result.before = train::evaluate(model, result.samples, options);
    result.after = train::evaluate(int8, result.samples, options);
  }
  return result;
}

std::string to_text(const Compared& c) {
  std::string text =
      fmt::format("\non {} {} samples:  SQNR of the outputs {:.1f} dB\n",
                  c.samples.size(), c.others ? "other" : "of the", c.sqnr);
  if (!c.before) return text;
  const size_t width = name_width(c.before->metrics);
  for (size_t i = 0; i < c.before->metrics.size(); ++i) {
    const auto& [name, before] = c.before->metrics[i];
    const double after = c.after->metrics[i].value;
    text += is_share(name)
                ? fmt::format("  {:<{}}  float {:.2f} %, quantized {:.2f} %\n",
                              name, width, percent(before), percent(after))
                : fmt::format("  {:<{}}  float {:.4f}, quantized {:.4f}\n",
                              name, width, before, after);
  }
  return text;
}

Config to_config(const Compared& c) {
  Config config;
  config.set("samples", c.samples.size())
      .set("other_than_calibration", c.others);
  // Without an error it is infinite, which JSON lacks.
  if (std::isfinite(c.sqnr)) config.set("sqnr_db", c.sqnr);
  if (!c.before) return config;
  for (size_t i = 0; i < c.before->metrics.size(); ++i) {
    const std::string& name = c.before->metrics[i].name;
    config.set("float_" + name, c.before->metrics[i].value)
        .set("quantized_" + name, c.after->metrics[i].value);
  }
  return config;
}

/// Labels are there to judge by: classes alone can.
void check_labels(const Options& o, const Dataset& data) {
  if (o.data.labels.empty() || data.label_specs().empty()) return;
  for (const TensorSpec& label : data.label_specs()) {
    if (label.dtype == DType::i64) continue;
    throw FormatError(fmt::format(
        "'{}': expected int64 [N], the classes, got {}{}",
        fmt::join(o.data.labels, "', '"), to_string(label.dtype),
        io::labels_hint(data.label_specs().size() == 1 ? data.labels()
                                                       : Tensor())));
  }
}

void quantize(Options o) {
  constexpr int64_t kUsual = 1024;
  check_output(o.output);
  check_not_read(o.output, files_of(o.model, o.data));
  check_method(o.calibration);
  (void)onnx_options(o.file, {});
  choose_policy(o.placement, o.file.target);
  check_reader(o.placement, o.file.target);
  check_engine_options(o.engine);
  warn_of_untrained(o.model);
  const Model model = read_model(o.model);
  const DataTarget target = target_of(model, o.model);
  const io::OpenedData opened = open_data(o.data, target);
  const std::string preprocess = preprocess_to_keep(opened, o.data, target);
  const std::string takes = preprocess.empty() ? target.takes : preprocess;
  (void)as_written(model.clone(), o.file, takes);  // or it says why not
  check_classes(model, o.model, opened);
  check_labels(o, opened.train);
  // Who names a file means all of it.
  if (o.calibration.samples == 0 && opened.kind != "a .npy file" &&
      opened.kind != ".npy files") {
    o.calibration.samples = std::min(kUsual, opened.train.size());
  }
  const Dataset data = data_for("quantize", model, opened.train);
  if (!o.json) print(describe("samples", data, opened, o.data, target));
  std::string report;
  Config figures(Config::Object{});
  Model int8 = o.ladder ? climb(model, data, o, report, figures)
                        : placed(model, data, o, report, figures);
  if (!o.ladder) {
    report += calibrate(int8, data, o.calibration,
                        !o.placement.bits.empty() || o.mean_bits > 0);
  }
  if (!o.json) print(report);
  const Compared compared = compare(model, int8, opened);
  if (compared.before) {
    warn_of_class_order("quantize", model, compared.samples, opened,
                        compared.before->accuracy);
  }
  const Model written = as_written(int8.clone(), o.file, takes);
  io::OnnxOptions names = names_of(o.model, written);
  names.preprocess = preprocess;
  names.resize = resize_to_keep(opened, o.data, target);
  if (std::ssize(opened.classes) == model.outputs()[0].shape()[-1]) {
    names.classes = opened.classes;
  }
  const io::OnnxOptions form = onnx_options(o.file, names);
  const io::OnnxReport file = io::export_onnx(written, o.output, form);
  warn_of_other_axes(o.model, model, form);
  const std::string engine = write_engine_files(o.output, form.target, o.engine,
                                                o.file.from_bytes.has_value(),
                                                &data, o.model.limits());
  if (o.json) {
    Config config = to_config(compared);
    add_inputs(config, opened, o.data, target);
    for (const auto& [key, value] : figures.as_object()) config.set(key, value);
    config.set("output", o.output)
        .set("nodes", file.nodes)
        .set("qdq_pairs", file.qdq_pairs)
        .set("bytes", file.bytes);
    print(io::to_json(config) + "\n");
  } else {
    print(to_text(compared));
    print(fmt::format("{}: {} nodes, {} Q/DQ pairs, {} bytes\n", o.output,
                      file.nodes, file.qdq_pairs, file.bytes));
    print(engine);
  }
  // The target of those who name none is a wish.
  if (!o.ladder || o.target < 0 || figures.at("target_met").as_bool()) return;
  throw ValueError(fmt::format(
      "--accuracy: expected {:g} of one of the methods, got less; '{}' has the "
      "best. Hint: octet qat",
      o.target, o.output));
}

}  // namespace

void add_quantize(CommandLine& program) {
  const auto options = std::make_shared<Options>();
  Options& o = *options;
  Command command = program.add_command(
      "quantize", "Quantize a model to INT8 by samples, as an ONNX file");
  add_model(command, o.model, kModelHelp);
  command.add("-o,--output", o.output, "what to write")
      .type("OUT.onnx")
      .required()
      .check([](const std::string& path) {
        return path.ends_with(".onnx") ? std::string()
                                       : "expected the name of an .onnx file, "
                                         "got '" +
                                             path + "'";
      });
  add_data_options(command, o.data, LabelKinds::classes);
  const Option method = add_calibration_options(command, o.calibration);
  const Option ladder = command.add_flag(
      "--ladder", o.ladder,
      "post-training methods one after another, until the accuracy is "
      "--accuracy: calibration, equalisation, bias correction, second-order "
      "rounding, AdaRound, block reconstruction");
  command
      .add("--accuracy", o.target, 0, 1,
           "accuracy to stop at, exit code 1 where none has it [the float "
           "model's less 0.005]")
      .needs(ladder);
  Option(method).excludes(ladder);
  command
      .add("--mean-bits", o.mean_bits, 4, 8,
           "weights of 8 or 4 bits, so many on average: those of layers that "
           "lose least by it get 4")
      .excludes(ladder);
  command.add_flag("--json", o.json, "print JSON instead");
  add_placement_options(command, o.placement);
  add_export_options(command, o.file);
  add_engine_options(command, o.engine);
  command.set_footer((std::string(kDataHelp) + kExamples).c_str());
  command.when_chosen([options] { quantize(*options); });
}

}  // namespace octet::program
