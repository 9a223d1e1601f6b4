// octet evaluate: how good a model is on samples with labels.
#include <memory>
#include <string>

#include <fmt/format.h>

#include <octet/io/json.h>
#include <octet/layers/model_data.h>
#include <octet/runtime/error.h>
#include <octet/train/evaluate.h>

#include "../program.h"
#include "choice.h"
#include "class_order.h"
#include "commands.h"
#include "data_options.h"
#include "loss_options.h"
#include "read_model.h"

namespace octet::program {
namespace {

constexpr const char* kEvaluateExamples = R"(
Examples:
  octet evaluate model.keras --data x.npy --labels y.npy
  octet evaluate resnet18.onnx --data photos/ --preprocess torch --crop 256
  octet evaluate model.keras --data photos/ --class-names cat,dog,bird
  octet evaluate int8.onnx --data /usr/share/datasets/fashion-mnist --json
)";

struct Options {
  ModelSource model;
  DataOptions data;
  std::string part = "auto";
  std::vector<std::string> loss;
  int64_t batch = 256;
  bool json = false;
};

enum class Part { automatic, train, test };

/// What is to be judged on, and what it is called.
std::pair<Dataset, std::string> part_of(const io::OpenedData& data,
                                        const std::string& word) {
  const Part part = choice<Part, 3>("--part", word,
                                    {{{"auto", Part::automatic},
                                      {"train", Part::train},
                                      {"test", Part::test}}});
  if (part == Part::test && !data.test) {
    throw ValueError(fmt::format(
        "--part test: expected data in two parts, got {}", data.kind));
  }
  if (data.test && part != Part::train) return {*data.test, "test samples"};
  return {data.train, data.test ? "training samples" : "samples"};
}

/// What is no better than guessing may have been asked in a wrong way.
void warn_of_guessing(const Options& o, const Model& model,
                      const train::Evaluation& result) {
  constexpr int64_t kFewest = 50;
  const int64_t classes = model.outputs()[0].shape()[-1];
  if (o.model.what.starts_with("zoo:") || result.samples < kFewest ||
      classes < 3 || !(result.accuracy < 1.5 / static_cast<double>(classes))) {
    return;
  }
  warn(fmt::format(
      "evaluate: {:.2f} % of {} classes is about what guessing gives. Hint: "
      "inputs as in training (--preprocess, --resize, or the scale of the .npy "
      "file), and labels in the order of the outputs (--class-names)",
      percent(result.accuracy), classes));
}

void evaluate(const Options& o) {
  warn_of_untrained(o.model);
  const Model model = read_model(o.model);
  const DataTarget target = target_of(model, o.model);
  const io::OpenedData opened = open_data(o.data, target);
  check_classes(model, o.model, opened);
  const auto [samples, name] = part_of(opened, o.part);
  const Measured by = measured_by(o.loss, model, samples);
  const Dataset data = data_for("evaluate", model, samples);
  if (!o.json) print(describe(name, data, opened, o.data, target));
  train::EvaluateOptions options{.batch_size = o.batch, .loss = by.loss};
  if (o.json) options.verbose = false;
  const train::Evaluation result = train::evaluate(model, data, options);
  warn_of_guessing(o, model, result);
  warn_of_class_order("evaluate", model, data, opened, result.accuracy);
  if (o.json) {
    Config config = to_config(result, by.name);
    config.set("model", o.model.what).set("data", opened.kind);
    add_inputs(config, opened, o.data, target);
    print(io::to_json(config) + "\n");
    return;
  }
  print(to_text(result, by.name));
}

}  // namespace

void add_evaluate(CommandLine& program) {
  const auto options = std::make_shared<Options>();
  Options& o = *options;
  Command command = program.add_command(
      "evaluate", "Measure loss and accuracy of a model on labelled samples");
  add_model(command, o.model, kModelHelp);
  add_data_options(command, o.data);
  command
      .add("--part", o.part,
           "of data in two parts: auto is test where there is one")
      .type("auto|train|test")
      .show_default();
  add_loss_option(command, o.loss);
  command.add("--batch", o.batch, 1, 1 << 20, "samples at a time")
      .show_default();
  command.add_flag("--json", o.json, "print JSON instead");
  command.set_footer((std::string(kDataHelp) + kEvaluateExamples).c_str());
  command.when_chosen([options] { evaluate(*options); });
}

}  // namespace octet::program
