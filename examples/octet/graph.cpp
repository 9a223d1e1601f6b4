// octet graph: draws a model.
#include <memory>
#include <string>

#include <octet/io/report.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "../common/program.h"
#include "choice.h"
#include "commands.h"
#include "placement_options.h"
#include "random_samples.h"
#include "read_model.h"

namespace octet::program {
namespace {

constexpr const char* kGraphExamples =
    R"(
Boxes are kernels with their layers, colored by the precision that octet lint
expects; blue marks Q/DQ points. An ONNX file is drawn node by node, or with
--layers as imported layers. Placement options apply to --int8. SVG files open
in any browser.

Examples:
  octet graph int8.onnx -o int8.svg
  octet graph zoo:resnet50 --int8 --target tensorrt8 -o plan.svg
  octet graph model.h5 --dot | dot -Tpdf -o model.pdf
)";

struct GraphOptions {
  ModelSource model;
  PlacementOptions placement;
  std::string output;
  std::string target = "tensorrt10";
  bool dot = false;
  bool int8 = false;
  bool layers = false;
  bool unfused = false;
};

Model drawn_model(const GraphOptions& o) {
  Model model = read_model(o.model);
  if (!o.int8) return model;
  if (quant::is_quantized(model)) {
    throw ValueError("already_quantized", "--int8",
                     "the model is already quantized");
  }
  Model int8 = quantized(model, o.placement);
  calibrate_on_noise(int8);
  return int8;
}

void graph(GraphOptions o) {
  if (!o.int8) check_no_placement(o.placement, "needs --int8");
  choose_policy(o.placement, o.target);
  if (!o.output.empty()) check_output(o.output);
  const io::DrawOptions options{
      .target =
          as_option("--target", [&] { return io::target_named(o.target); }),
      .fuse = !o.unfused,
      .limits = o.model.limits()};
  const bool file = is_onnx(o.model.what) && !o.layers && !o.int8;
  if (file) {
    check_no_architecture(o.model);
    check_no_input_shape(o.model);
  }
  const io::Drawing drawing = file ? io::draw_onnx(o.model.what, options)
                                   : io::draw(drawn_model(o), options);
  if (!drawing.note.empty()) warn("no_forecast", "graph", drawing.note);
  const bool dot = o.dot || o.output.ends_with(".dot");
  const std::string text = dot ? io::to_dot(drawing) : io::to_svg(drawing);
  if (o.output.empty()) return print(text);
  write_file(o.output, text);
}

}  // namespace

void add_graph(CommandLine& program) {
  const auto options = std::make_shared<GraphOptions>();
  GraphOptions& o = *options;
  Command command =
      program.add_command("graph", "Draw a model as SVG or Graphviz");
  add_model(command, o.model, kModelHelp);
  command.begin_group("Output");
  command
      .add("-o,--output,output", o.output,
           "output file (default: standard output)")
      .type("OUT.svg|OUT.dot")
      .writes({".svg", ".dot"});
  command.add_flag("--dot", o.dot, "write Graphviz instead of SVG");
  command
      .add(
          "--target", o.target,
          "runtime that will execute the model, for the forecast of precisions")
      .type("tensorrt8|tensorrt10|tensorrt11|tensorrt_rtx|onnxruntime|openvino")
      .show_default();
  command.add_flag("--unfused", o.unfused,
                   "draw a box per layer instead of per kernel");
  command.add_flag(
      "--layers", o.layers,
      "draw the imported layers of an ONNX file instead of its nodes");
  command.add_flag(
      "--int8", o.int8,
      "quantize the model first, with random ranges (for the picture only)");
  add_placement_options(command, o.placement);
  command.set_footer(kGraphExamples);
  command.when_chosen([options] { graph(*options); });
}

}  // namespace octet::program
