#include "export_options.h"

#include <fmt/format.h>

#include <octet/io/image.h>
#include <octet/runtime/error.h>
#include <octet/train/evaluate.h>
#include <octet/train/loss.h>

#include "choice.h"
#include "sample_layout.h"

namespace octet::program {

void add_target_option(Command& command, ExportOptions& o, const char* help) {
  command.add("--target", o.target, help)
      .type(
          "tensorrt8|tensorrt10|tensorrt11|tensorrt_rtx|onnxruntime|openvino|"
          "any");
}

void add_export_options(Command& command, ExportOptions& o) {
  command.begin_group("ONNX file");
  add_target_option(command, o,
                    "runtime that loads the file; sets defaults of this group");
  command.add("--opset", o.opset, 13, 21,
              "ONNX opset, 13 to 21 (default: 13, supported by TensorRT 8.0 "
              "and later)");
  command
      .add("--weights", o.weights,
           "storage of quantized weights; int8 is a quarter of the size, with "
           "the same results (default: float32 for any and tensorrt8, else "
           "int8)")
      .type("float32|int8");
  command.add_flag("--fold", o.fold,
                   "fold batch normalization into the preceding layer (always "
                   "for onnxruntime)");
  command.add_flag("--float16", o.float16,
                   "store floats as float16; sets the defaults --opset 19 "
                   "--weights int8");
  command.add("--batch", o.batch, 0, int64_t{1} << 20,
              "fixed batch size, 0: dynamic (default: as in the source ONNX "
              "file, else dynamic)");
  command
      .add("--softmax", o.softmax,
           "append or strip the final softmax, or sigmoid for a single output "
           "(default: unchanged)")
      .type("append|strip");
  command
      .add("--from-bytes", o.from_bytes,
           "make the input uint8 and preprocess it in the file; trained: mode "
           "in the model file (default: float32 input, preprocessed by the "
           "caller)")
      .type("trained|unit|tf|torch|caffe|MEAN/STD");
  command.begin_group("TensorFlow Lite file");
  command
      .add("--io", o.io,
           "element type of the inputs and outputs of an INT8 .tflite file "
           "(default: int8)")
      .type("int8|uint8|float32");
}

namespace {

Model with_end(Model model, const ExportOptions& o) {
  if (!o.softmax) return model;
  enum class End { append, strip };
  const End end =
      choice<End, 2>("--softmax", *o.softmax,
                     {{{"append", End::append}, {"strip", End::strip}}});
  return end == End::append ? train::probability_model(model)
                            : train::logits_model(model);
}

}  // namespace

Model as_written(Model model, const ExportOptions& o,
                 const std::string& takes) {
  Model result = with_end(std::move(model), o);
  if (!o.from_bytes) return result;
  const std::string& asked = *o.from_bytes;
  if (asked == "trained" && takes.empty()) {
    throw ValueError("missing_value", "--from-bytes",
                     "the model file has no preprocessing mode for 'trained'. "
                     "Hint: unit scales to [0,1]");
  }
  const std::string& mode = asked == "trained" ? takes : asked;
  const io::Preprocess preprocess = io::preprocess_mode(mode);
  if (takes == "none" && mode != takes) {
    throw ValueError(
        "conflicting_options", "--from-bytes",
        fmt::format("must be trained or none for a model that expects unscaled "
                    "bytes, got '{}'",
                    mode));
  }
  if (!takes.empty() && mode != takes) {
    throw ValueError(
        "conflicting_options", "--from-bytes",
        fmt::format("must be '{}', the model's preprocessing, got '{}'", takes,
                    mode));
  }
  return io::with_preprocessing(result, preprocess);
}

io::OnnxExportOptions onnx_options(const ExportOptions& o,
                                   const io::OnnxExportOptions& names) {
  using io::OnnxExportOptions;
  using io::OnnxWeights;
  OnnxExportOptions options = OnnxExportOptions::for_target(
      o.target
          ? as_option("--target", [&] { return io::target_named(*o.target); })
          : io::Target::any);
  options.input_names = names.input_names;
  options.output_names = names.output_names;
  options.interface = names.interface;
  options.classes = names.classes;
  options.preprocess = o.from_bytes ? "none" : names.preprocess;
  options.resize = names.resize;
  if (o.float16) {
    options.float16 = true;
    options.weights = OnnxWeights::int8;
  }
  if (o.opset != 0) options.opset = static_cast<int>(o.opset);
  if (o.weights) {
    options.weights = choice<OnnxWeights, 2>(
        "--weights", *o.weights,
        {{{"float32", OnnxWeights::float32}, {"int8", OnnxWeights::int8}}});
  }
  if (o.fold) options.fold_batch_norm = true;
  options.layout = layout_of(o.layout);
  if (o.batch == 0) options.interface.batch = 0;
  options.batch = std::max<int64_t>(o.batch, 0);
  if (o.from_bytes) {
    // as_written() adds the preprocessing of this input.
    if (options.interface.inputs.empty()) {
      options.interface.inputs.emplace_back();
    }
    options.interface.inputs.at(0).type = "uint8";
  }
  options.check();
  return options;
}

}  // namespace octet::program
