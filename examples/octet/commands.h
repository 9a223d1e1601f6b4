// Subcommands of the octet program. Each function adds a command with its
// options.
#pragma once

#include "../common/command_line.h"

namespace octet::program {

void add_autotune(CommandLine& program);
void add_bench(CommandLine& program);
void add_compare(CommandLine& program);
void add_compile(CommandLine& program);
void add_convert(CommandLine& program);
void add_doctor(CommandLine& program);
void add_evaluate(CommandLine& program);
void add_explain(CommandLine& program);
void add_fold(CommandLine& program);
void add_sparsify(CommandLine& program);
void add_graph(CommandLine& program);
void add_inspect(CommandLine& program);
void add_lint(CommandLine& program);
void add_optimize(CommandLine& program);
void add_plan(CommandLine& program);
void add_predict(CommandLine& program);
void add_qat(CommandLine& program);
void add_quantize(CommandLine& program);
void add_report(CommandLine& program);
void add_sensitivity(CommandLine& program);
void add_verify(CommandLine& program);
void add_train(CommandLine& program);

}  // namespace octet::program
