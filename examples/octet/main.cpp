// The octet command line program.
#include <sys/ioctl.h>
#include <unistd.h>

#include <octet/runtime/detail/shape_hint.h>
#include <octet/runtime/detail/text_table.h>

#include "commands.h"

namespace {

/// Returns the columns of standard output; 0 if it is not a terminal.
size_t terminal_width() {
  winsize size = {};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  return known ? size.ws_col : 0;
}

}  // namespace

int main(int argc, char** argv) {
  octet::set_hint_style(octet::HintStyle::command_line);
  octet::set_table_width(terminal_width());
  octet::program::CommandLine program(
      "Train, quantize, inspect and deploy neural networks.", "octet");
  octet::program::add_inspect(program);
  octet::program::add_graph(program);
  octet::program::add_plan(program);
  octet::program::add_predict(program);
  octet::program::add_train(program);
  octet::program::add_evaluate(program);
  octet::program::add_quantize(program);
  octet::program::add_optimize(program);
  octet::program::add_autotune(program);
  octet::program::add_sensitivity(program);
  octet::program::add_qat(program);
  octet::program::add_bench(program);
  octet::program::add_convert(program);
  octet::program::add_compile(program);
  octet::program::add_fold(program);
  octet::program::add_sparsify(program);
  octet::program::add_doctor(program);
  octet::program::add_explain(program);
  octet::program::add_lint(program);
  octet::program::add_verify(program);
  octet::program::add_compare(program);
  octet::program::add_report(program);
  program.add_job_command();
  program.add_completion_command();
  program.add_man_command();
  return program.run(argc, argv);
}
