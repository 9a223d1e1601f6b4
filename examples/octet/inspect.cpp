#include <memory>
#include <string>

#include <octet/io/json.h>
#include <octet/io/onnx.h>

#include "commands.h"

namespace octet_program {

void add_inspect(CLI::App& program) {
  struct Options {
    std::string file;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand(
      "inspect", "Check an ONNX file and show its nodes, shapes and scales");
  command->add_option("file", options->file, "the ONNX file")->required();
  command->add_flag("--json", options->json, "print JSON instead of a table");
  command->callback([options] {
    const octet::io::OnnxSummary summary =
        octet::io::inspect_onnx(options->file);
    print(options->json
              ? octet::io::to_json(octet::io::to_config(summary)) + "\n"
              : octet::io::to_table(summary));
  });
}

}  // namespace octet_program
