#include <memory>
#include <string>

#include <octet/io/json.h>
#include <octet/io/onnx.h>

#include "../program.h"
#include "commands.h"
#include "inspect_zoo.h"

namespace octet::program {
namespace {

constexpr std::string_view kZoo = "zoo:";

std::string inspected(const std::string& what, bool json) {
  if (what.starts_with(kZoo)) {
    return inspect_zoo(std::string_view(what).substr(kZoo.size()), json);
  }
  const io::OnnxSummary summary = io::inspect_onnx(what);
  return json ? io::to_json(io::to_config(summary)) + "\n"
              : io::to_table(summary);
}

}  // namespace

void add_inspect(CLI::App& app) {
  struct Options {
    std::string what;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "inspect",
      "Check an ONNX file and show its nodes, shapes and scales, or show a "
      "network of the zoo");
  command
      ->add_option("what", options->what,
                   "the ONNX file, zoo:NAME, or zoo: for all networks")
      ->required();
  command->add_flag("--json", options->json, "print JSON instead of a table");
  command->callback(
      [options] { print(inspected(options->what, options->json)); });
}

}  // namespace octet::program
