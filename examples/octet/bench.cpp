#include <memory>
#include <string>

#include <octet/layers/inference_session.h>
#include <octet/quant/quantize_model.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/parallel.h>

#include "../program.h"
#include "commands.h"
#include "measured.h"
#include "random_samples.h"
#include "read_model.h"

namespace octet::program {
namespace {

struct Options {
  ModelSource source;
  bool int8 = false;
  bool json = false;
  int64_t batch = 1;
  int64_t threads = 0;
  double seconds = 2;
};

bool is_quantized(const Model& model) {
  return !quant::quantizers(model).empty();
}

Model quantized(const Model& model) {
  if (is_quantized(model)) return model.clone();
  Model result = quant::quantize_model(model);
  calibrate_on_noise(result);
  return result;
}

std::string benched(const Options& o) {
  if (o.threads > 0) set_num_threads(static_cast<int>(o.threads));
  Model model = read_model(o.source);
  if (o.int8) model = quantized(model);
  const InferenceSession session(model, session_options(o.source));
  const Measurement what{.network = o.source.what,
                         .int8 = is_quantized(model),
                         .batch = o.batch,
                         .threads = num_threads(),
                         .seconds = o.seconds};
  return times_text(session, what, times_of(session, model, what), o.json);
}

}  // namespace

void add_bench(CommandLine& program) {
  const auto options = std::make_shared<Options>();
  Options& o = *options;
  Command command = program.add_command(
      "bench",
      "Measure how fast a model runs here: latency, throughput, and the time "
      "of each fused step");
  add_model(command, o.source, kModelHelp);
  command.add_flag("--int8", o.int8,
                   "quantize it first, with ranges of random samples: good "
                   "for its speed alone");
  command.add("--batch", o.batch, 1, 4096, "samples a run");
  command.add("--threads", o.threads, 0, 1024, "0: all cores");
  command.add("--seconds", o.seconds, 0, 3600, "to measure for, at least")
      .type("S")
      .show_default();
  command.add_flag("--json", o.json, "print JSON instead of a table");
  command.set_footer(
      "Example: octet bench zoo:resnet8 --int8 --batch 32 --threads 2");
  command.when_chosen([options] { print(benched(*options)); });
}

}  // namespace octet::program
