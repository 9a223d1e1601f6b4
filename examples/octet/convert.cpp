#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <octet/io/onnx.h>

#include "../program.h"
#include "commands.h"
#include "data_options.h"
#include "engine_files.h"
#include "export_options.h"
#include "io_names.h"
#include "read_model.h"
#include "sample_layout.h"

namespace octet::program {

void add_convert(CommandLine& program) {
  struct Options {
    ModelSource from;
    std::string to;
    ExportOptions file;
    EngineOptions engine;
    bool requantize = false;
  };
  const auto options = std::make_shared<Options>();
  Command command = program.add_command("convert", "Convert a model to ONNX");
  add_model(command, options->from, kModelHelp);
  command.begin_group("Output");
  command
      .add("-o,--output,onnx", options->to,
           "output file, as argument or with -o")
      .type("OUT.onnx")
      .required()
      .writes({".onnx"});
  command.add_flag("--requantize", options->requantize,
                   "make activation ranges of a quantized ONNX file symmetric "
                   "int8, without data; octet quantize --requantize calibrates "
                   "them");
  add_export_options(command, options->file);
  add_layout_option(command, options->file.layout,
                    "axis order of inputs and outputs (default: as in the "
                    "source ONNX file, else nchw)");
  add_engine_options(command, options->engine, options->to);
  command.set_footer(R"(
Examples:
  octet convert model.keras -o model.onnx
  octet convert model.h5 -o model.onnx --target tensorrt10
  octet convert uint8.onnx -o int8.onnx --target tensorrt10 --requantize
  octet convert model.h5 -o model.onnx --from-bytes trained --layout nhwc
)");
  command.when_chosen([options] {
    check_output(options->to);
    (void)onnx_options(options->file, {});
    check_engine_options(options->engine);
    warn_of_untrained(options->from);
    if (options->requantize) {
      options->from.quantizers = ModelSource::Quantizers::make_symmetric;
    }
    Model model = read_model(options->from);
    const std::string takes = mode_of(model, options->from);
    const Model written = as_written(std::move(model), options->file, takes);
    const io::OnnxOptions file =
        onnx_options(options->file, names_of(options->from, written));
    const io::OnnxReport report = io::export_onnx(written, options->to, file);
    print(fmt::format("{}: {} nodes, {} Q/DQ pairs, {} bytes\n", options->to,
                      report.nodes, report.qdq_pairs, report.bytes));
    print(write_engine_files(options->to, file.target, options->engine, nullptr,
                             options->from.limits()));
  });
}

}  // namespace octet::program
