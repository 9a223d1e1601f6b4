#include "export_options.h"

#include <fmt/format.h>

#include <octet/io/preprocess.h>
#include <octet/runtime/error.h>
#include <octet/train/logits_model.h>

#include "choice.h"
#include "sample_layout.h"

namespace octet::program {

void add_target_option(Command& command, ExportOptions& o, const char* help) {
  command.add("--target", o.target, help)
      .type("tensorrt8|tensorrt10|tensorrt11|openvino|onnxruntime|any");
}

void add_export_options(Command& command, ExportOptions& o) {
  add_target_option(
      command, o, "who reads the file; the options below change what it sets");
  command.add("--opset", o.opset, 13, 21,
              "of the operators, from 13 to 21; every TensorRT since 8.0 reads "
              "13 [13]");
  command
      .add("--weights", o.weights,
           "of layers that are quantized: float32 values on the grid, which "
           "every TensorRT takes, or int8 codes, a quarter of the size with "
           "the same results [float32 for any and tensorrt8, else int8]")
      .type("float32|int8");
  command.add_flag("--fold", o.fold,
                   "batch normalization becomes part of the layer before it; "
                   "on for onnxruntime");
  command.add_flag("--float16", o.float16,
                   "floats within the file in 16 bits, with opset 19 and int8 "
                   "weights where these are not given");
  command.add("--batch", o.batch, 0, int64_t{1} << 20,
              "batch size fixed in the file; 0: dynamic [as in the model's "
              "ONNX file, else dynamic]");
  command
      .add("--softmax", o.softmax,
           "append: probabilities after logits; strip: logits without them; a "
           "sigmoid where there is one output [as the model ends]")
      .type("append|strip");
  command
      .add("--from-bytes", o.from_bytes,
           "the file's input is uint8, and its first nodes preprocess it by "
           "this mode; trained: the one in the model's own file "
           "[float32, preprocessed by the caller]")
      .type("trained|unit|tf|torch|caffe|MEAN/STD");
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
    throw ValueError(
        "--from-bytes: expected a mode, got 'trained' of a model whose file "
        "does not say. Hint: unit gives [0,1]");
  }
  const std::string& mode = asked == "trained" ? takes : asked;
  const io::Preprocess preprocess = io::preprocess_mode(mode);
  if (takes == "none" && mode != takes) {
    throw ValueError(fmt::format(
        "--from-bytes: the model takes bytes already, got '{}'", mode));
  }
  if (!takes.empty() && mode != takes) {
    throw ValueError(fmt::format(
        "--from-bytes: expected '{}', which is what the model takes, got '{}'",
        takes, mode));
  }
  return io::with_preprocessing(result, preprocess);
}

io::OnnxOptions onnx_options(const ExportOptions& o,
                             const io::OnnxOptions& names) {
  using io::OnnxOptions;
  using io::OnnxWeights;
  OnnxOptions options = OnnxOptions::for_target(
      o.target ? io::onnx_target(*o.target) : io::OnnxTarget::any);
  options.input_names = names.input_names;
  options.output_names = names.output_names;
  options.interface = names.interface;
  options.classes = names.classes;
  options.preprocess = o.from_bytes ? "none" : names.preprocess;
  options.resize = names.resize;
  if (o.float16) {
    options.float16 = true;
    options.opset = 19;
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
    // A camera's bytes; as_written() puts the preprocessing behind them.
    if (options.interface.inputs.empty()) {
      options.interface.inputs.emplace_back();
    }
    options.interface.inputs.at(0).type = "uint8";
  }
  options.check();
  return options;
}

}  // namespace octet::program
