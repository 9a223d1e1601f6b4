#include <memory>
#include <string>

#include <octet/layers/inference_session.h>
#include <octet/quant/quantize_model.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/parallel.h>

#include "../common/program.h"
#include "commands.h"
#include "random_samples.h"
#include "read_model.h"
#include "session_timing.h"

namespace octet::program {
namespace {

struct BenchOptions {
  ModelSource source;
  bool int8 = false;
  bool json = false;
  int64_t batch = 1;
  int64_t threads = 0;
  double seconds = 2;
  std::string trace;
};

Model quantized(const Model& model) {
  if (quant::is_quantized(model)) return model.clone();
  Model result = quant::quantize_model(model);
  calibrate_on_noise(result);
  return result;
}

std::string benched(const BenchOptions& o) {
  if (o.threads > 0) set_num_threads(static_cast<int>(o.threads));
  if (!o.trace.empty()) check_output(o.trace);
  Model model = read_model(o.source);
  if (o.int8) model = quantized(model);
  const InferenceSession session(model, session_options(o.source));
  const Measurement what{.network = o.source.what,
                         .int8 = quant::is_quantized(model),
                         .batch = o.batch,
                         .threads = num_threads(),
                         .seconds = o.seconds};
  std::string text =
      times_text(session, what, times_of(session, model, what), o.json);
  if (!o.trace.empty()) {
    trace_runs(session, model, o.batch, o.trace);
    if (!o.json) text += "trace of 10 runs: " + o.trace + "\n";
  }
  return text;
}

}  // namespace

void add_bench(CommandLine& program) {
  const auto options = std::make_shared<BenchOptions>();
  BenchOptions& o = *options;
  Command command = program.add_command(
      "bench", "Measure the latency and throughput of a model");
  add_model(command, o.source, kModelHelp);
  command.begin_group("Measurement");
  command.add_flag(
      "--int8", o.int8,
      "quantize the model first, with random ranges (for timing only)");
  command.add("--batch", o.batch, 1, 4096, "batch size").show_default();
  command.add("--threads", o.threads, 0, 1024,
              "number of threads (default: all cores)");
  command
      .add("--seconds", o.seconds, 0, 3600,
           "minimum measurement time in seconds")
      .type("S")
      .show_default();
  command.begin_group("Output");
  command
      .add("--trace", o.trace,
           "write a Chrome trace of 10 more runs, for ui.perfetto.dev")
      .type("FILE");
  command.add_flag("--json", o.json, "print JSON");
  command.set_footer(
      "\nPrints latency, throughput and the time of each fused step.\n\n"
      "Example:\n  octet bench zoo:resnet8 --int8 --batch 32 --threads 2\n");
  command.when_chosen([options] { print(benched(*options)); });
}

}  // namespace octet::program
