#include <memory>
#include <string>

#include <fmt/format.h>

#include <octet/io/onnx.h>

#include "../program.h"
#include "commands.h"
#include "read_model.h"
#include "same_order.h"

namespace octet::program {

void add_convert(CommandLine& program) {
  struct Options {
    ModelSource from;
    std::string to;
  };
  const auto options = std::make_shared<Options>();
  Command command =
      program.add_command("convert", "Write a model as an ONNX file");
  add_model(command, options->from, kModelHelp);
  command.add("onnx", options->to, "the file to write, OUT.onnx")
      .required()
      .check([](const std::string& path) {
        return path.ends_with(".onnx")
                   ? std::string()
                   : "expected the name of an .onnx file, got '" + path +
                         "'. Hint: Octet writes ONNX alone; TensorRT builds "
                         "its engines from that";
      });
  command.when_chosen([options] {
    check_output(options->to);
    warn_of_untrained(options->from);
    const Model model = read_model(options->from);
    const io::OnnxOptions names = names_of(options->from, model);
    const io::OnnxReport report = io::export_onnx(model, options->to, names);
    warn_of_other_axes(options->from, model, names);
    print(fmt::format("{}: {} nodes, {} Q/DQ pairs, {} bytes\n", options->to,
                      report.nodes, report.qdq_pairs, report.bytes));
  });
}

}  // namespace octet::program
