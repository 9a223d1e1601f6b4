#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/io/json.h>
#include <octet/io/model_file.h>
#include <octet/io/onnx.h>

#include "../common/program.h"
#include "commands.h"
#include "list_zoo.h"
#include "model_text.h"
#include "read_model.h"
#include "session_report.h"

namespace octet::program {
namespace {

/// Returns the imported layers of an ONNX file, and the import of each node.
std::string layers_of_onnx(const ModelSource& source, bool json) {
  const io::OnnxImport read = io::import_onnx(
      source.what,
      {.input_shapes = input_shapes(source), .limits = source.limits()});
  if (json) return io::to_json(program::to_config(read.model)) + "\n";
  return to_text(read.model) + "\n" + read.report.to_string();
}

/// Returns "classes: 3 ('bar', 'cross', 'disc')", or "" for a file without
/// class names.
std::string classes_text(const std::vector<std::string>& classes) {
  return classes.empty() ? ""
                         : fmt::format("\nclasses: {} ('{}')\n", classes.size(),
                                       fmt::join(classes, "', '"));
}

void add_classes(const std::vector<std::string>& classes, Config& config) {
  if (classes.empty()) return;
  config.set("classes", Config::List(classes.begin(), classes.end()));
}

std::string inspected(const ModelSource& source, bool json, bool fused,
                      bool layers) {
  const std::string& what = source.what;
  if (layers && is_onnx(what)) return layers_of_onnx(source, json);
  if (fused) {
    const InferenceSession session(read_model(source), session_options(source));
    return json ? steps_json(session) : steps_text(session);
  }
  if (what != "zoo:" && !is_onnx(what)) {
    const Model model = read_model(source);
    const std::vector<std::string> classes =
        what.starts_with("zoo:") ? std::vector<std::string>()
                                 : io::class_names(what, source.limits());
    if (!json) return to_text(model) + classes_text(classes);
    Config config = program::to_config(model);
    add_classes(classes, config);
    return io::to_json(config) + "\n";
  }
  check_no_architecture(source);
  check_no_input_shape(source);
  if (what == "zoo:") return list_zoo(json);
  const io::OnnxSummary summary = io::inspect_onnx(what);
  if (!json) return io::to_table(summary) + classes_text(summary.classes);
  Config config = io::to_config(summary);
  add_classes(summary.classes, config);
  return io::to_json(config) + "\n";
}

}  // namespace

void add_inspect(CommandLine& program) {
  struct Options {
    ModelSource source;
    bool json = false;
    bool fused = false;
    bool layers = false;
  };
  const auto options = std::make_shared<Options>();
  Command command = program.add_command(
      "inspect", "Show the layers, shapes and sizes of a model");
  add_model(command, options->source,
            "Keras, Octet or ONNX file (.h5, .keras, .octet, .onnx), zoo:NAME, "
            "or zoo: to list all networks");
  command.begin_group("Output");
  command.add_flag("--json", options->json, "print JSON");
  command.add_flag("--fused", options->fused,
                   "show the steps of an inference session: fused layers, "
                   "stored tensors and reasons");
  command.add_flag(
      "--layers", options->layers,
      "show the imported layers of an ONNX file and the import of each node");
  command.set_footer(R"(
Model files are loaded completely. ONNX files are checked and shown node by
node, with shapes and scales.

Examples:
  octet inspect zoo:
  octet inspect model.onnx --layers
  octet inspect model.h5 --fused
)");
  command.when_chosen([options] {
    print(inspected(options->source, options->json, options->fused,
                    options->layers));
  });
}

}  // namespace octet::program
