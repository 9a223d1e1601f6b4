#include <memory>
#include <string>

#include <octet/io/json.h>
#include <octet/io/onnx.h>

#include "../program.h"
#include "commands.h"

namespace octet::program {

void add_inspect(CLI::App& app) {
  struct Options {
    std::string file;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "inspect", "Check an ONNX file and show its nodes, shapes and scales");
  command->add_option("file", options->file, "the ONNX file")->required();
  command->add_flag("--json", options->json, "print JSON instead of a table");
  command->callback([options] {
    const io::OnnxSummary summary = io::inspect_onnx(options->file);
    print(options->json ? io::to_json(io::to_config(summary)) + "\n"
                        : io::to_table(summary));
  });
}

}  // namespace octet::program
