// The octet command line program: `octet --help` lists what it does.
#include "../program.h"
#include "commands.h"

int main(int argc, char** argv) {
  CLI::App app(
      "Looks into neural networks, places Q/DQ in them, runs, measures and "
      "converts them.",
      "octet");
  octet::program::add_inspect(app);
  octet::program::add_plan(app);
  octet::program::add_predict(app);
  octet::program::add_bench(app);
  octet::program::add_convert(app);
  app.require_subcommand(1);
  return octet::program::run(app, argc, argv, [] {});
}
