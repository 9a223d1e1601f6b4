// octet convert. octet fold also folds batch normalization, octet sparsify
// also prunes.
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/io/json.h>
#include <octet/io/model_file.h>
#include <octet/io/onnx.h>
#include <octet/quant/post_training.h>
#include <octet/runtime/detail/text_table.h>
#include <octet/runtime/error.h>

#include "../common/program.h"
#include "commands.h"
#include "data_options.h"
#include "engine_files.h"
#include "export_options.h"
#include "io_names.h"
#include "read_model.h"
#include "sample_layout.h"
#include "tflite_output.h"

namespace octet::program {
namespace {

constexpr const char* kConvertNotes = R"(
An .onnx or .tflite file is for deployment in other runtimes; an .octet file
for inference with Octet in programs that link octet::session, without ONNX and
HDF5; an .h5 file keeps the model as it is, to train or quantize it later.
Weights of quantized layers in an .octet file are INT8 values.

Examples:
  octet convert model.keras -o model.onnx
  octet convert model.onnx -o model.h5
  octet convert model.keras -o model.tflite
  octet convert int8.onnx -o model.octet
  octet convert model.h5 -o model.onnx --target tensorrt10
  octet convert uint8.onnx -o int8.onnx --target tensorrt10 --symmetric-activations
  octet convert model.h5 -o model.onnx --from-bytes trained --layout nhwc
)";

constexpr const char* kFoldNotes = R"(
The same as octet convert --fold. Folding does not change quantized values.

Examples:
  octet fold model.keras -o folded.h5
  octet fold int8.onnx -o folded.onnx --target tensorrt10
)";

constexpr const char* kSparsifyNotes = R"(
Sets the weights of least magnitude to 0 until at most N of M consecutive inputs
of each output and kernel tap have a weight other than 0. TensorRT runs 2:4 on
sparse Tensor Cores with trtexec --sparsity=enable. Pruning costs accuracy that
training with --preserve-zeros recovers.

Examples:
  octet sparsify model.h5 -o sparse.h5
  octet train sparse.h5 --data photos/ --preserve-zeros -o tuned.h5
  octet qat tuned.h5 --data photos/ --preserve-zeros -o int8.onnx
)";

struct ConvertOptions {
  ModelSource from;
  std::string to;
  ExportOptions file;
  EngineOptions engine;
  bool symmetric_activations = false;
  bool json = false;
  std::string pattern = "";  // "2:4"; empty: not pruned

  bool onnx() const { return to.ends_with(".onnx"); }
  bool tflite() const { return is_tflite(to); }
};

// Rejects options of ONNX export if the output is not an ONNX file.
void check_for_file(const ConvertOptions& o) {
  const std::pair<const char*, bool> given[] = {
      {"--target", o.file.target.has_value()},
      {"--opset", o.file.opset != 0},
      {"--weights", o.file.weights.has_value()},
      {"--float16", o.file.float16},
      {"--batch", o.file.batch >= 0},
      {"--from-bytes", o.file.from_bytes.has_value()},
      {"--layout", o.file.layout.has_value()},
      {"--golden", o.engine.golden}};
  for (const auto& [option, is_given] : given) {
    if (!is_given || o.onnx()) continue;
    throw ValueError("conflicting_options", option,
                     fmt::format("needs an .onnx output file, got '{}'", o.to));
  }
}

std::string folds_text(const std::vector<quant::BatchNormFold>& folds) {
  return folds.empty() ? "the model has no BatchNormalization\n"
                       : quant::to_string(folds);
}

Config folds_config(const std::vector<quant::BatchNormFold>& folds) {
  Config::List list;
  for (const quant::BatchNormFold& fold : folds) {
    list.push_back(Config()
                       .set("batch_norm", fold.batch_norm)
                       .set("into", fold.into)
                       .set("reason", fold.reason));
  }
  return list;
}

quant::SparsityPattern pattern_of(const std::string& text) {
  quant::SparsityPattern pattern;
  const char* const end = text.data() + text.size();
  const auto kept = std::from_chars(text.data(), end, pattern.kept);
  if (kept.ec == std::errc() && kept.ptr != end && *kept.ptr == ':') {
    const auto of = std::from_chars(kept.ptr + 1, end, pattern.of);
    if (of.ec == std::errc() && of.ptr == end) return pattern;
  }
  throw ValueError("invalid_value", "--pattern",
                   fmt::format("must be N:M, such as 2:4, got '{}'", text));
}

std::string percent_of_zeros(const quant::LayerSparsity& layer) {
  return fmt::format("{:.1f} %", 100 * static_cast<double>(layer.zeros) /
                                     static_cast<double>(layer.size));
}

std::string sparsity_text(const std::vector<quant::LayerSparsity>& layers) {
  TextTable table({Align::left, Align::right, Align::left});
  table.add_row({"layer", "zeros", ""});
  table.add_rule();
  for (const quant::LayerSparsity& layer : layers) {
    table.add_row({layer.layer, percent_of_zeros(layer),
                   layer.skipped.empty() ? "" : "skipped: " + layer.skipped});
  }
  return table.to_string();
}

Config sparsity_config(const std::vector<quant::LayerSparsity>& layers) {
  Config::List list;
  for (const quant::LayerSparsity& layer : layers) {
    list.push_back(Config()
                       .set("layer", layer.layer)
                       .set("zeros", layer.zeros)
                       .set("size", layer.size)
                       .set("skipped", layer.skipped));
  }
  return list;
}

void convert(ConvertOptions o) {
  std::optional<quant::SparsityPattern> pattern;
  if (!o.pattern.empty()) pattern = pattern_of(o.pattern);
  check_output(o.to);
  choose_format(o.to, o.file);
  check_for_file(o);
  if (o.onnx()) (void)onnx_options(o.file, {});
  check_engine_options(o.engine);
  warn_of_untrained(o.from);
  ModelSource from = o.from;
  if (o.symmetric_activations)
    from.quantizers = ModelSource::Quantizers::make_symmetric;
  Model model = read_model(from);
  if (!o.onnx() && !o.to.ends_with(".octet")) {
    warn_of_rounded_weights(from, model);
  }
  Config json;
  std::string text;
  if (pattern) {
    const std::vector<quant::LayerSparsity> layers =
        quant::sparsify(model, {.pattern = *pattern});
    json.set("sparsity", sparsity_config(layers));
    text += sparsity_text(layers);
  }
  if (o.file.fold) {
    const std::vector<quant::BatchNormFold> folds =
        quant::batch_norm_folds(model);
    model = quant::fold_batch_norm(model);
    json.set("folds", folds_config(folds));
    text += folds_text(folds);
  }
  const std::string takes = mode_of(model, from);
  const Model written = as_written(std::move(model), o.file, takes);
  const io::OnnxExportOptions names = names_of(from, written);
  json.set("output", o.to);
  if (o.onnx()) {
    const io::OnnxExportOptions file = onnx_options(o.file, names);
    const io::OnnxExportReport report = io::export_onnx(written, o.to, file);
    json.set("nodes", report.nodes)
        .set("qdq_pairs", report.qdq_pairs)
        .set("bytes", report.bytes);
    text += fmt::format("{}: {} nodes, {} Q/DQ pairs, {} bytes\n", o.to,
                        report.nodes, report.qdq_pairs, report.bytes);
    text +=
        write_engine_files(o.to, file.target, o.engine, nullptr, from.limits());
  } else if (o.tflite()) {
    const io::TfliteReport report =
        io::export_tflite(written, o.to, tflite_options(o.file, names));
    add_report(json, report);
    text += to_text(o.to, report);
  } else {
    io::save_model(written, o.to,
                   {.classes = names.classes,
                    .preprocess = names.preprocess,
                    .resize = names.resize,
                    .interface = names.interface,
                    .training = training_of(from)});
    json.set("layers", static_cast<int64_t>(written.layers().size()));
    text += fmt::format("{}: {} layers\n", o.to, written.layers().size());
  }
  print(o.json ? io::to_json(json) + "\n" : text);
}

// What a command changes beside the file format.
enum class Change { none, fold, prune };

// Adds a command with the options of convert. `output` names the argument, also
// in job files.
void add(CommandLine& program, const char* name, const char* title,
         const char* output, const char* notes, Change change) {
  const auto options = std::make_shared<ConvertOptions>();
  ConvertOptions& o = *options;
  Command command = program.add_command(name, title);
  add_model(command, o.from, kModelHelp);
  command.begin_group("Output");
  command
      .add(fmt::format("-o,--output,{}", output).c_str(), o.to,
           "output file, as argument or with -o")
      .type("OUT.onnx|OUT.tflite|OUT.octet|OUT.h5")
      .required()
      .writes({".onnx", ".tflite", ".octet", ".h5"});
  command.add_flag(
      "--symmetric-activations", o.symmetric_activations,
      "make activation ranges of a quantized ONNX file symmetric "
      "int8, without data; octet quantize --drop-quantizers calibrates "
      "them");
  if (change == Change::prune) {
    o.pattern = "2:4";
    command
        .add("--pattern", o.pattern,
             "pattern: at most N weights other than 0 among M consecutive "
             "inputs")
        .type("N:M")
        .show_default();
  }
  command.add_flag("--json", o.json, "print JSON");
  add_export_options(command, o.file);
  add_layout_option(command, o.file.layout,
                    "axis order of inputs and outputs of an ONNX file "
                    "(default: as in the source ONNX file, else nchw)");
  add_engine_options(command, o.engine, o.to);
  command.set_footer(notes);
  command.when_chosen([options, change] {
    options->file.fold |= change == Change::fold;
    convert(*options);
  });
}

}  // namespace

void add_convert(CommandLine& program) {
  add(program, "convert",
      "Convert a model to ONNX, TensorFlow Lite or an Octet file", "onnx",
      kConvertNotes, Change::none);
}

void add_fold(CommandLine& program) {
  add(program, "fold", "Fold batch normalization into the preceding layers",
      "output", kFoldNotes, Change::fold);
}

void add_sparsify(CommandLine& program) {
  add(program, "sparsify", "Prune weights to N:M sparsity", "output",
      kSparsifyNotes, Change::prune);
}

}  // namespace octet::program
