// octet optimize: searches for a recipe whose file meets a goal.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/io/json.h>
#include <octet/io/report.h>
#include <octet/quant/optimize.h>
#include <octet/runtime/detail/text_table.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>
#include <octet/runtime/parallel.h>

#include "../common/program.h"
#include "commands.h"
#include "job_file.h"
#include "optimize_goal.h"
#include "optimize_state.h"
#include "qat_job.h"
#include "quantization_check.h"
#include "quantize_job.h"
#include "session_timing.h"
#include "silence.h"
#include "tflite_output.h"

namespace octet::program {
namespace {

constexpr const char* kOptimizeNotes = R"(
Tries recipes from cheap to expensive and stops at the first that meets the goal
on held-out samples: calibration methods and equalization, bias correction and
weight rounding, sensitive layers in float, the target's other number formats,
QAT on the outputs of the float model, QAT on labels.

Files:
  BEST.onnx         the best model
  BEST.toml         its recipe: octet run BEST.toml writes the same bytes
  BEST.trials.json  all trials; an interrupted search continues from it
  BEST.svg          accuracy against latency and size

Exit code:
  1 if no recipe meets the goal. The closest model is written; the
  message names the limits that it misses.
)";

constexpr const char* kOptimizeExamples = R"(
Examples:
  octet optimize model.h5 --data photos/ --target tensorrt10 -o best.onnx
  octet optimize model.onnx --data x.npy --labels y.npy --target onnxruntime \
    --accuracy-drop 0.3% --latency 2ms -o best.onnx
  octet optimize model.h5 --data x.npy --size 300KB -o best.tflite
)";

struct OptimizeCommand {
  ModelSource model;
  DataOptions data;
  ExportOptions file;
  GoalOptions goal;
  std::vector<std::string> excluded;
  std::string output;
  int64_t samples = 1024;
  int64_t seed = 1;
  int64_t epochs = 0;  // 0: from the preset
  bool no_training = false;
  bool restart = false;
  bool json = false;

  /// Returns the path of a file beside the output.
  std::string beside_output(const char* extension) const {
    return std::filesystem::path(output).replace_extension(extension).string();
  }
};

QuantizeOptions quantize_options_of(const OptimizeCommand& o) {
  QuantizeOptions q;
  q.model = o.model;
  q.data = o.data;
  q.file = o.file;
  q.output = o.output;
  q.placement.excluded = o.excluded;
  q.calibration.samples = o.samples;
  q.validation = kHeldOutUnlessTest;
  q.seed = o.seed;
  q.json = o.json;
  return q;
}

/// Returns the number formats of the target, the preferred format first.
std::vector<std::string> formats_of(const QuantizeOptions& q) {
  if (is_tflite(q.output)) return {"int8", "int16"};
  const std::string target = q.file.target.value_or("tensorrt10");
  std::vector<std::string> formats = {"int8"};
  for (const char* format : {"fp8", "w4a16"}) {
    PlacementOptions placement;
    placement.format = format;
    try {
      choose_policy(placement, target);
      if (target != "any") formats.emplace_back(format);
    } catch (const Error&) {
      // The target lacks the format.
    }
  }
  return formats;
}

/// Returns the preset of fine-tuning for a network.
const char* preset_of(const Model& model) {
  const bool depthwise = std::ranges::any_of(
      model.layers(), [](const std::shared_ptr<const Layer>& layer) {
        return layer->class_name() == "DepthwiseConv2D";
      });
  return depthwise ? "int8_mobile" : "int8";
}

/// Returns the options of octet qat for a recipe with fine-tuning.
QatOptions qat_options(const QuantizeOptions& base, const quant::Recipe& recipe,
                       const char* preset, int64_t epochs) {
  const QuantizeOptions q = with_recipe(base, recipe);
  QatOptions qat;
  qat.model = q.model;
  qat.data = q.data;
  qat.placement = q.placement;
  if (q.placement.by_default) qat.placement.policy.clear();
  qat.placement.by_default = false;
  qat.file = q.file;
  qat.training.epochs = epochs;
  qat.training.validation = q.validation;
  qat.training.seed = q.seed;
  qat.preset = preset;
  qat.calibration = q.calibration;
  qat.calibration.checked = false;
  qat.calibration.samples = base.requested_samples;
  qat.recipe = q.recipe;
  if (recipe.fine_tuning == quant::FineTuning::teacher) qat.teacher = "self";
  qat.accept = true;
  qat.output = q.output;
  qat.json = true;
  return qat;
}

/// Adds the options that octet quantize and octet qat share.
template <class Options>
JobSection& add_common(JobSection& job, const Options& o) {
  job.add_model_options(o.model)
      .add_data(o.data)
      .set("target", std::string_view(o.file.target.value_or("")))
      .set("method", std::string_view(o.calibration.method))
      .set("samples", o.calibration.samples);
  if (o.calibration.method == "percentile") {
    job.set("percentile", o.calibration.percentile);
  }
  if (o.placement.format != "int8") {
    job.set("format", std::string_view(o.placement.format));
  }
  return job.set("bits", std::string_view(o.placement.bits))
      .set("exclude", o.placement.excluded)
      .set("equalize", o.recipe.equalize)
      .set("no-equalize", o.recipe.no_equalize)
      .set("bias-correction", o.recipe.bias_correction)
      .set("second-order", o.recipe.second_order)
      .set("adaround", o.recipe.adaround)
      .set("reconstruct", o.recipe.reconstruct);
}

std::string job_of(const QuantizeOptions& base, const quant::Recipe& recipe,
                   const char* preset, int64_t epochs) {
  if (recipe.fine_tuning == quant::FineTuning::none) {
    QuantizeOptions q = with_recipe(base, recipe);
    q.calibration.samples = base.requested_samples;
    JobSection job("quantize");
    return add_common(job, q)
        .set("validation", std::string_view(q.validation))
        .set("seed", q.seed)
        .set("accept", true)
        .set("output", std::string_view(q.output))
        .text();
  }
  const QatOptions qat = qat_options(base, recipe, preset, epochs);
  JobSection job("qat");
  return add_common(job, qat)
      .set("teacher", std::string_view(qat.teacher))
      .set("preset", std::string_view(qat.preset))
      .set("epochs", qat.training.epochs)
      .set("validation", std::string_view(qat.training.validation))
      .set("seed", qat.training.seed)
      .set("accept", true)
      .set("output", std::string_view(qat.output))
      .text();
}

/// Returns the accuracy on the labels as a score; empty if the labels have no
/// accuracy.
std::function<double(const Model&, const Dataset&)> score_by_labels(
    const Model& model, const Dataset& samples) {
  const std::vector<TensorSpec> labels = samples.label_specs();
  if (labels.empty() ||
      (model.outputs().size() != 1 && labels[0].name.empty())) {
    return {};
  }
  const Measured by = measured_by({}, model, samples);
  const train::Evaluation one = train::evaluate(
      model, samples.take(1), {.loss = by.loss, .verbose = false});
  if (!decisive_score(by, one).is_accuracy) return {};
  return score_of(by);
}

std::string progress_line(const quant::OptimizeState& state) {
  if (state.trials.empty()) return "";
  const quant::OptimizeTrial& t = state.trials.back();
  if (!t.error.empty()) {
    return fmt::format("{:4}  {}: {}\n", state.trials.size(),
                       t.recipe.to_string(), t.error);
  }
  return fmt::format("{:4}  {}, {} samples: {}{:.1f} dB, {:.1f} s\n",
                     state.trials.size(), t.recipe.to_string(), t.samples,
                     t.score ? fmt::format("{:.2f} %, ", 100 * *t.score) : "",
                     t.sqnr, t.seconds);
}

/// Describes the measure of quality.
/// Throws: ValueError for --accuracy-drop without labels and classes.
std::string measure_text(const Model& model, const Dataset& validation,
                         const OptimizeCommand& o,
                         const quant::OptimizeGoal& goal, bool has_labels) {
  if (has_labels) {
    return fmt::format("goal: accuracy drops by at most {:g} points",
                       100 * goal.accuracy_drop);
  }
  if (quant::compare_outputs(model, model, validation.take(1)).agreement()) {
    return fmt::format("goal: at most {:g} % of the samples change class",
                       100 * goal.accuracy_drop);
  }
  if (!o.goal.accuracy_drop.empty()) {
    throw ValueError("missing_value", "--accuracy-drop",
                     "needs labels, or a model that ends in a softmax. Hint: "
                     "add --labels, or use --min-sqnr");
  }
  return fmt::format("goal: output SQNR of at least {:g} dB (--min-sqnr)",
                     goal.min_sqnr);
}

/// Warns if a single sample weighs more than the goal allows.
void warn_of_few_samples(const quant::OptimizeGoal& goal, int64_t samples) {
  const double one = 1 / static_cast<double>(samples);
  if (one <= goal.accuracy_drop || goal.accuracy_drop == 0) return;
  warn("too_few_samples", "--accuracy-drop",
       fmt::format("one of {} validation samples is {:.2f} points, more than "
                   "the goal of {:g}. Hint: use more samples",
                   samples, 100 * one, 100 * goal.accuracy_drop));
}

Config json_of(const quant::Optimized& found, const OptimizeCommand& o,
               const std::string& job) {
  quant::OptimizeState all{.trials = found.trials};
  Config config;
  config.set("met", found.met)
      .set("shortfall", found.shortfall())
      .set("recipe", to_config(found.trials[found.selected].recipe))
      .set("selected", static_cast<int64_t>(found.selected))
      .set("score_name", found.score_name)
      .set("out_of_time", found.out_of_time)
      .set("output", o.output)
      .set("job", job)
      .set("trials", to_config(all).at("trials"));
  if (found.float_score) config.set("float_score", *found.float_score);
  return config;
}

void run_optimize(OptimizeCommand o) {
  const quant::OptimizeGoal goal = goal_of(o.goal);
  const double seconds = seconds_of(o.goal);
  if (!is_tflite(o.output) && !o.file.target) {
    throw ValueError("missing_value", "--target",
                     "needs a runtime. Hint: --target tensorrt10, onnxruntime, "
                     "openvino, or -o BEST.tflite");
  }
  QuantizeOptions q = quantize_options_of(o);
  q.requested_samples = o.samples;
  Config ignored(Config::Object{});
  const QuantizeInputs in = open_inputs(q, ignored);
  const Dataset validation = evaluation_samples(in.model, in.opened).samples;
  const char* preset = preset_of(in.model);

  quant::OptimizeOptions options{.goal = goal, .formats = formats_of(q)};
  std::string unused;
  options.recipe = recipe_options(q, in.calibration, unused, ignored);
  options.score = score_by_labels(in.model, validation);
  options.latency = [&](const Model& model,
                        const quant::Recipe& recipe) -> std::optional<double> {
    // Sessions simulate other formats, which tells nothing about a device.
    if (recipe.format != "int8" && recipe.format != "float") return {};
    return session_milliseconds(model, session_options(o.model));
  };
  options.bytes = [&](const Model& model, const quant::Recipe& recipe) {
    return quantized_bytes(model, with_recipe(q, recipe), in);
  };
  std::optional<io::OnnxExportOptions> tuned_form;
  options.fine_tune = [&](const quant::Recipe& recipe) {
    QatOptions qat = qat_options(q, recipe, preset, o.epochs);
    QatRun run = fine_tuned(qat);
    tuned_form = std::move(run.form);
    return std::move(run.tuned);
  };
  if (!o.no_training) {
    options.fine_tuning = {quant::FineTuning::teacher};
    if (options.score) {
      options.fine_tuning.push_back(quant::FineTuning::labels);
    }
  }
  options.seconds = seconds;
  const std::string measure =
      measure_text(in.model, validation, o, goal, options.score != nullptr);
  if (!o.json) print(measure + "\n");
  if (options.score) warn_of_few_samples(goal, validation.size());

  const std::string state_path = o.beside_output(".trials.json");
  const SearchIdentity identity = identity_of(
      in.model, in.calibration, validation,
      fmt::format("target {}, seed {}, epochs {}, exclude [{}], file {}",
                  o.file.target.value_or("tflite"), o.seed, o.epochs,
                  fmt::join(o.excluded, " "),
                  std::filesystem::path(o.output).extension().string()));
  if (!o.restart) options.state = read_state(state_path, identity);
  if (!options.state.trials.empty() && !o.json) {
    print(fmt::format("continues after {} in {}\n",
                      counted(std::ssize(options.state.trials), "trial"),
                      state_path));
  }
  size_t shown = 0;
  options.on_change = [&](const quant::OptimizeState& state) {
    write_state(state_path, identity, state);
    if (!o.json && state.trials.size() > shown) print(progress_line(state), 2);
    shown = state.trials.size();
  };
  const quant::Optimized found = [&] {
    const Silence silence;  // warnings of single trials
    return quant::optimize(in.model, in.calibration, validation, options);
  }();

  const quant::Recipe& recipe = found.trials[found.selected].recipe;
  const std::string written =
      recipe.fine_tuning == quant::FineTuning::none
          ? write_quantized(found.model, with_recipe(q, recipe), in).text
          : write_model(qat_options(q, recipe, preset, o.epochs), found.model,
                        tuned_form.value());
  const std::string job_path = o.beside_output(".toml");
  const std::string chart_path = o.beside_output(".svg");
  write_file(job_path, job_of(q, recipe, preset, o.epochs));
  write_file(chart_path, io::to_svg(found));
  if (o.json) {
    print(io::to_json(json_of(found, o, job_path)) + "\n");
  } else {
    print(fmt::format(
        "\n{}\nlatency: one sample in an inference session on this machine, {} "
        "threads\n{}{}: octet run {} writes {} again\n{}\n",
        found.to_string(), num_threads(), written, job_path, job_path, o.output,
        chart_path));
  }
  if (found.met) return;
  throw ValueError(
      "goal_missed", o.output,
      fmt::format("no recipe meets the goal; the closest misses: {}. Hint: {}",
                  found.shortfall(),
                  found.out_of_time ? "a longer --time-budget continues the "
                                      "search"
                                    : "relax the goal, add --labels or more "
                                      "samples, or try octet qat"));
}

}  // namespace

void add_optimize(CommandLine& program) {
  const auto options = std::make_shared<OptimizeCommand>();
  OptimizeCommand& o = *options;
  Command command = program.add_command(
      "optimize",
      "Search for the quantization that meets an accuracy, latency or "
      "size goal");
  add_model(command, o.model, kModelHelp);
  command.begin_group("Output");
  command
      .add("-o,--output,output", o.output,
           "output file, as argument or with -o")
      .type("BEST.onnx|BEST.tflite")
      .required()
      .writes({".onnx", ".tflite"})
      .also_writes([options]() -> std::vector<Output> {
        return {{"--output", options->beside_output(".toml")},
                {"--output", options->beside_output(".trials.json")},
                {"--output", options->beside_output(".svg")}};
      });
  add_data_options(command, o.data, LabelKinds::classes);
  add_goal_options(command, o.goal);
  command.begin_group("Search");
  command
      .add("--samples", o.samples, 8, int64_t{1} << 31,
           "number of calibration samples, a random subset")
      .show_default();
  command
      .add("--seed", o.seed, 0, int64_t{1} << 31,
           "seed of splits, subsets and training")
      .show_default();
  command.add("--epochs", o.epochs, 1, int64_t{1} << 31,
              "number of QAT epochs (default: from the preset)");
  command.add_flag("--no-training", o.no_training,
                   "skip recipes with fine-tuning");
  command
      .add("--exclude", o.excluded,
           "keep layers in float in all recipes: regular expression of full "
           "layer names")
      .type("RE");
  command.add_flag("--restart", o.restart,
                   "ignore the trials of an earlier run");
  command.begin_group("Output");
  add_target_option(command, o.file);
  command.add_flag("--json", o.json, "print JSON");
  command.set_footer(
      (std::string(kOptimizeNotes) + kDataHelp + kImageHelp + kOptimizeExamples)
          .c_str());
  command.when_chosen([options] { run_optimize(*options); });
}

}  // namespace octet::program
