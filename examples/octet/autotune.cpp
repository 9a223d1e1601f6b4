// octet autotune: places Q/DQ where they save latency on the device.
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/io/json.h>
#include <octet/io/onnx.h>
#include <octet/quant/autotune.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>

#include "../common/program.h"
#include "autotune_state.h"
#include "commands.h"
#include "io_names.h"
#include "latency_runner.h"
#include "quantization_check.h"
#include "quantize_job.h"
#include "silence.h"

namespace octet::program {
namespace {

constexpr const char* kAutotuneNotes = R"(
Quantizes the model as octet quantize does, then removes Q/DQ from parts where
they do not save latency. Blocks of equal structure are measured once, with
several placements, then whole models. Without a gain the file is that of octet
quantize, or float.

Runners:
  session        inference session of this process
  onnxruntime    ONNX Runtime, by the Python package
  openvino       OpenVINO, by the Python package
  COMMAND        trtexec with its options, at any path: --onnx=FILE,
                 --saveEngine=FILE and --loadEngine=FILE are added, and the
                 median of "GPU Compute Time" is read from the output
  "ssh HOST COMMAND"
                 the same on another machine; scp copies the files to its /tmp

Files:
  OUT.onnx           the model
  OUT.plan.json      its Q/DQ, with the measured reason of each
  OUT.autotune.json  all latencies; an interrupted run continues from it
)";

constexpr const char* kAutotuneExamples = R"(
Examples:
  octet autotune model.h5 --data x.npy --target onnxruntime \
    --runner onnxruntime -o tuned.onnx
  octet autotune model.onnx --data photos/ --target tensorrt10 \
    --runner "ssh jetson /usr/src/tensorrt/bin/trtexec" -o tuned.onnx
  octet autotune model.h5 --data x.npy --target openvino --runner openvino \
    --python venv/bin/python --state openvino.json -o tuned.onnx
)";

struct AutotuneCommand {
  QuantizeOptions quantize;
  RunnerOptions runner;
  std::string state;  // "": beside the output
  double gain = 2;    // percent
  bool restart = false;

  std::string beside_output(const char* extension) const {
    return std::filesystem::path(quantize.output)
        .replace_extension(extension)
        .string();
  }
  std::string state_path() const {
    return state.empty() ? beside_output(".autotune.json") : state;
  }
};

/// Returns the settings that latencies depend on, for the state file.
std::string settings_of(const AutotuneCommand& o) {
  const ExportOptions& file = o.quantize.file;
  const bool here = o.runner.runner.find("ssh") == std::string::npos;
  return fmt::format(
      "runner \"{}\", target {}, {} rounds, {}opset {}, weights {}, float16 "
      "{}, layout {}",
      o.runner.runner, o.runner.target, rounds_of(o.runner),
      here ? fmt::format("{} threads of {}, ", num_threads(), machine_name())
           : "",
      file.opset, file.weights.value_or("by target"), file.float16,
      file.layout.value_or("by file"));
}

/// Returns the function that writes the files of a runner. Whole models have
/// the inputs of the delivered file, regions plain ones.
ExportForRunner export_for(const AutotuneCommand& o, size_t nodes) {
  return [&o, nodes](const Model& model, const std::string& path) {
    const Silence silence;
    ExportOptions file = o.quantize.file;
    file.from_bytes.reset();
    const bool whole = model.nodes().size() == nodes;
    if (!whole) file.layout.reset();
    io::OnnxExportOptions form =
        onnx_options(file, whole ? names_of(o.quantize.model, model)
                                 : io::OnnxExportOptions());
    // Engines and Python runners measure a sample at a time.
    if (form.batch == 0) form.batch = 1;
    (void)io::export_onnx(model, path, form);
  };
}

Config pattern_config(const quant::TunedPattern& pattern) {
  Config::List schemes, regions;
  for (const quant::TunedScheme& scheme : pattern.schemes) {
    Config entry;
    entry.set("name", scheme.name).set("points", scheme.points);
    if (scheme.error.empty()) {
      entry.set("latency_ms", scheme.latency);
    } else {
      entry.set("error", scheme.error);
    }
    schemes.push_back(std::move(entry));
  }
  for (const std::vector<std::string>& region : pattern.regions) {
    regions.push_back(Config::List(region.begin(), region.end()));
  }
  return Config()
      .set("name", pattern.name)
      .set("chosen", pattern.chosen)
      .set("reason", pattern.reason)
      .set("schemes", std::move(schemes))
      .set("regions", std::move(regions));
}

Config ratio_config(const quant::LatencyRatio& ratio) {
  return Config().set("ratio", ratio.ratio).set("noise", ratio.noise);
}

Config tuned_config(const quant::Tuned& tuned) {
  Config::List patterns;
  for (const quant::TunedPattern& pattern : tuned.patterns) {
    patterns.push_back(pattern_config(pattern));
  }
  return Config()
      .set("selected", quant::to_string(tuned.selected))
      .set("latency_ms", tuned.latency)
      .set("planned_latency_ms", tuned.planned_latency)
      .set("float_latency_ms", tuned.float_latency)
      .set("to_planned", ratio_config(tuned.to_planned))
      .set("to_float", ratio_config(tuned.to_float))
      .set("note", tuned.note)
      .set("patterns", std::move(patterns));
}

std::string progress_line(const quant::LatencyMeasurement& m) {
  std::vector<std::string> parts;
  size_t column = 0;
  for (size_t i = 0; i < m.models.size(); ++i) {
    parts.push_back(
        m.errors[i].empty()
            ? fmt::format("{} {:.3g} ms", m.models[i],
                          quant::median_latency(m.milliseconds, column++))
            : fmt::format("{} failed", m.models[i]));
  }
  return fmt::format("{}: {}\n", m.subject, fmt::join(parts, ", "));
}

void run_autotune(AutotuneCommand o) {
  QuantizeOptions& q = o.quantize;
  if (!q.file.target) {
    throw ValueError("missing_value", "--target",
                     "needs a runtime. Hint: --target onnxruntime, openvino, "
                     "tensorrt10, or any for an inference session");
  }
  if (format_of(q.placement) != Format::int8) {
    throw UnsupportedError(
        "conflicting_options", "--format",
        fmt::format("must be int8, got {}", q.placement.format));
  }
  o.runner.target = *q.file.target;
  o.runner.session = session_options(q.model);
  if (!o.state.empty()) check_output(o.state);
  // Checks the runner before the calibration.
  (void)latency_runner(o.runner, {});
  const std::string settings = settings_of(o);
  const std::string state_path = o.state_path();
  quant::AutotuneOptions options{.gain = o.gain / 100};
  if (!o.restart) options.state = read_latencies(state_path, settings);

  Config figures(Config::Object{});
  const QuantizeInputs in = open_inputs(q, figures);
  if (quant::is_quantized(in.model)) {
    throw ValueError("already_quantized", q.model.what,
                     "the model has quantizers. Hint: tune the float model");
  }
  std::string report;
  const Model int8 = quantized_by_recipe(q, in, report, figures);
  if (!q.json) print(report);
  if (!options.state.measurements.empty() && !q.json) {
    print(fmt::format("continues after {} measurements in {}\n",
                      options.state.measurements.size(), state_path));
  }
  options.latencies =
      latency_runner(o.runner, export_for(o, int8.nodes().size()));
  options.on_change = [&](const quant::AutotuneState& state) {
    write_latencies(state_path, settings, state);
    if (!q.json) print(progress_line(state.measurements.back()), 2);
  };
  const quant::Tuned tuned = quant::autotune(int8, options);

  const std::string plan_path = o.beside_output(".plan.json");
  const bool quantized = quant::is_quantized(tuned.model);
  QuantizationCheck check;
  if (quantized) {
    check = check_quantization(in.model, tuned.model,
                               evaluation_samples(in.model, in.opened));
  }
  const Written file = write_quantized(tuned.model, q, in);
  io::save_plan(tuned.plan, plan_path);
  if (q.json) {
    Config config = tuned_config(tuned);
    if (quantized) config.set("check", to_config(check));
    config.set("output", q.output).set("plan", plan_path);
    for (const auto& [key, value] : file.figures.as_object()) {
      config.set(key, value);
    }
    print(io::to_json(config) + "\n");
  } else {
    print(fmt::format("\n{}{}{}{}\n", tuned.to_string(),
                      quantized ? to_text(check) : "", file.text, plan_path));
  }
  if (quantized) expect_worth(check, q.output, q.accept);
}

}  // namespace

void add_autotune(CommandLine& program) {
  const auto options = std::make_shared<AutotuneCommand>();
  QuantizeOptions& q = options->quantize;
  Command command = program.add_command(
      "autotune", "Place Q/DQ where they save latency, measured on the device");
  add_model(command, q.model, kModelHelp);
  command.begin_group("Output");
  command
      .add("-o,--output,output", q.output,
           "output file, as argument or with -o")
      .type("OUT.onnx")
      .required()
      .writes({".onnx"})
      .also_writes([options]() -> std::vector<Output> {
        std::vector<Output> files = {
            {"--output", options->beside_output(".plan.json")}};
        if (options->state.empty()) {
          files.push_back({"--output", options->state_path()});
        }
        return files;
      });
  add_data_options(command, q.data, LabelKinds::classes);
  command.begin_group("Latency");
  command
      .add("--runner", options->runner.runner,
           "program that measures the files, see below")
      .type("session|onnxruntime|openvino|COMMAND")
      .required();
  command
      .add("--python", options->runner.python,
           "Python with onnxruntime or openvino")
      .type("PATH")
      .show_default();
  command.add("--rounds", options->runner.rounds, 3, 1000,
              "number of interleaved rounds of each comparison (default: 15; 5 "
              "for a command line)");
  command
      .add("--gain", options->gain, 0, 50,
           "least share of the latency that Q/DQ must save, in percent")
      .show_default();
  command
      .add("--state", options->state,
           "file of all latencies, which runs of other models may share "
           "(default: OUT.autotune.json)")
      .type("FILE.json")
      .writes({".json"});
  command.add_flag("--restart", options->restart,
                   "ignore the latencies of an earlier run");
  add_calibration_options(command, q.calibration);
  add_placement_options(command, q.placement);
  add_export_options(command, q.file);
  command.begin_group("Output");
  add_accept_option(command, q.accept);
  command.add_flag("--json", q.json, "print JSON");
  command.set_footer(
      (std::string(kAutotuneNotes) + kDataHelp + kImageHelp + kAutotuneExamples)
          .c_str());
  command.when_chosen([options] { run_autotune(*options); });
}

}  // namespace octet::program
