// octet fold: folds batch normalization into the preceding layers.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <octet/io/checkpoint.h>
#include <octet/io/json.h>
#include <octet/io/onnx.h>
#include <octet/quant/post_training.h>
#include <octet/runtime/error.h>

#include "../program.h"
#include "commands.h"
#include "export_options.h"
#include "io_names.h"
#include "read_model.h"
#include "sample_layout.h"

namespace octet::program {
namespace {

constexpr const char* kFoldExamples = R"(
Folding does not change quantized values.

Examples:
  octet fold model.keras -o folded.h5
  octet fold int8.onnx -o folded.onnx --target tensorrt10
)";

struct FoldOptions {
  ModelSource model;
  std::string output;
  ExportOptions file;
  bool json = false;
};

std::string folds_json(const std::vector<quant::BatchNormFold>& folds,
                       const FoldOptions& o) {
  Config::List list;
  for (const quant::BatchNormFold& fold : folds) {
    list.push_back(Config()
                       .set("batch_norm", fold.batch_norm)
                       .set("into", fold.into)
                       .set("reason", fold.reason));
  }
  return io::to_json(Config().set("folds", list).set("output", o.output)) +
         "\n";
}

void fold(const FoldOptions& o) {
  check_output(o.output);
  const bool onnx = o.output.ends_with(".onnx");
  if ((o.file.target || o.file.layout) && !onnx) {
    throw ValueError(
        "conflicting_options", o.file.target ? "--target" : "--layout",
        fmt::format("needs an .onnx output file, got '{}'", o.output));
  }
  warn_of_untrained(o.model);
  const Model model = read_model(o.model);
  const std::vector<quant::BatchNormFold> folds =
      quant::batch_norm_folds(model);
  const Model folded = quant::fold_batch_norm(model);
  const io::OnnxOptions names = names_of(o.model, model);
  if (onnx) {
    const io::OnnxOptions file = onnx_options(o.file, names);
    io::export_onnx(folded, o.output, file);
  } else {
    io::save_model(folded, o.output,
                   {.classes = names.classes,
                    .preprocess = names.preprocess,
                    .resize = names.resize,
                    .interface = names.interface,
                    .training = training_of(o.model)});
  }
  if (o.json) {
    print(folds_json(folds, o));
    return;
  }
  print(folds.empty() ? "the model has no BatchNormalization\n"
                      : quant::to_string(folds));
  print(fmt::format("{}: {} layers of {}\n", o.output, folded.layers().size(),
                    model.layers().size()));
}

}  // namespace

void add_fold(CommandLine& program) {
  const auto options = std::make_shared<FoldOptions>();
  FoldOptions& o = *options;
  Command command = program.add_command(
      "fold", "Fold batch normalization into the preceding layers");
  add_model(command, o.model, kModelHelp);
  command.begin_group("Output");
  command
      .add("-o,--output,output", o.output,
           "output file, as argument or with -o")
      .type("OUT.h5")
      .required()
      .writes({".h5", ".onnx"});
  add_target_option(command, o.file,
                    "runtime that loads the ONNX file (default: any)");
  add_layout_option(command, o.file.layout,
                    "axis order of inputs and outputs of an ONNX file "
                    "(default: as in the source ONNX file, else nchw)");
  command.add_flag("--json", o.json, "print JSON");
  command.set_footer(kFoldExamples);
  command.when_chosen([options] { fold(*options); });
}

}  // namespace octet::program
