// octet fold: batch normalization as part of the layers before it.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <octet/io/checkpoint.h>
#include <octet/io/json.h>
#include <octet/io/onnx.h>
#include <octet/quant/fold_batch_norm.h>
#include <octet/runtime/error.h>

#include "../program.h"
#include "commands.h"
#include "export_options.h"
#include "read_model.h"
#include "same_order.h"

namespace octet::program {
namespace {

constexpr const char* kFoldExamples = R"(
Examples:
  octet fold model.keras -o folded.h5
  octet fold int8.onnx -o folded.onnx --target tensorrt10
)";

struct Options {
  ModelSource model;
  std::string output;
  ExportOptions file;
  bool json = false;
};

std::string folds_json(const std::vector<quant::BatchNormFold>& folds,
                       const Options& o) {
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

void fold(const Options& o) {
  check_output(o.output);
  const bool onnx = o.output.ends_with(".onnx");
  if (o.file.target && !onnx) {
    throw ValueError("--target: expected an .onnx file to write, got '" +
                     o.output + "'");
  }
  check_not_read(o.output, {o.model.what});
  warn_of_untrained(o.model);
  const Model model = read_model(o.model);
  const std::vector<quant::BatchNormFold> folds =
      quant::batch_norm_folds(model);
  const Model folded = quant::fold_batch_norm(model);
  const io::OnnxOptions names = names_of(o.model, model);
  if (onnx) {
    const io::OnnxOptions file = onnx_options(o.file, names);
    io::export_onnx(folded, o.output, file);
    warn_of_other_axes(o.model, model, file);
  } else {
    io::save_model(folded, o.output,
                   {.classes = names.classes,
                    .preprocess = names.preprocess,
                    .resize = names.resize});
  }
  if (o.json) {
    print(folds_json(folds, o));
    return;
  }
  print(folds.empty() ? "no BatchNormalization: nothing to fold\n"
                      : quant::to_string(folds));
  print(fmt::format("{}: {} layers of {}\n", o.output, folded.layers().size(),
                    model.layers().size()));
}

}  // namespace

void add_fold(CommandLine& program) {
  const auto options = std::make_shared<Options>();
  Options& o = *options;
  Command command = program.add_command(
      "fold",
      "Make batch normalization part of the layers before it: the same "
      "function in fewer layers, and the same codes");
  add_model(command, o.model, kModelHelp);
  command.add("-o,--output", o.output, "what to write")
      .type("OUT.h5")
      .required()
      .check([](const std::string& path) -> std::string {
        if (path.ends_with(".h5") || path.ends_with(".onnx")) return {};
        return "expected the name of an .h5 or .onnx file, got '" + path + "'";
      });
  add_target_option(command, o.file, "who reads the ONNX file [any]");
  command.add_flag("--json", o.json, "print JSON instead");
  command.set_footer(kFoldExamples);
  command.when_chosen([options] { fold(*options); });
}

}  // namespace octet::program
