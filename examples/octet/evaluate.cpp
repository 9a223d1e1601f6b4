// octet evaluate: measures a model on labeled samples.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/io/json.h>
#include <octet/layers/detail/model_data.h>
#include <octet/runtime/detail/printable.h>
#include <octet/runtime/detail/text_table.h>
#include <octet/runtime/error.h>
#include <octet/train/evaluate.h>

#include "../common/program.h"
#include "choice.h"
#include "class_order.h"
#include "commands.h"
#include "data_options.h"
#include "evaluate_detector.h"
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
  octet evaluate yolov8n.onnx --task detection --data coco8/images/val \
      --class-names coco8.yaml
  octet evaluate int8.onnx --task detection --data val2017/ \
      --labels instances_val2017.json

Detection:
  --data is a folder of images. Labels are in YOLO's folder "labels" beside the
  folder "images", in a folder of --labels, or in a COCO file, --labels X.json.
  The model's first output lists boxes as YOLO does. Images are letterboxed,
  unless the model file or --resize says otherwise.
)";

struct EvaluateOptions {
  ModelSource model;
  DataOptions data;
  std::string part = "auto";
  std::vector<std::string> loss;
  int64_t batch = 0;  ///< 0: not given
  bool confusion = false;
  bool json = false;
  std::string task = "classification";
  std::string head;
  double score = -1;    ///< negative: not given
  double overlap = -1;  ///< negative: not given
};

// Defaults.
constexpr int64_t kBatch = 256;
constexpr double kLowestScore = 0.001, kLargestOverlap = 0.7;

enum class Part { automatic, train, test };

/// Returns the samples to evaluate and their name in the report.
std::pair<Dataset, std::string> part_of(const io::OpenedData& data,
                                        const std::string& word) {
  const Part part = choice<Part, 3>("--part", word,
                                    {{{"auto", Part::automatic},
                                      {"train", Part::train},
                                      {"test", Part::test}}});
  if (part == Part::test && !data.test) {
    throw ValueError("missing_value", "--part",
                     fmt::format("the data has no test part: {}", data.kind));
  }
  if (data.test && part != Part::train) return {*data.test, "test samples"};
  return {data.train, data.test ? "training samples" : "samples"};
}

/// Returns a table with a row per class and a column per prediction.
std::string confusion_text(const train::ConfusionMatrix& counts,
                           const std::vector<std::string>& classes) {
  const auto name = [&](int64_t i) {
    return i < std::ssize(classes)
               ? printable(classes[static_cast<size_t>(i)], 40)
               : fmt::format("{}", i);
  };
  std::vector<Align> columns = {Align::left};
  std::vector<std::string> head = {"class \\ predicted"};
  for (int64_t i = 0; i < counts.classes(); ++i) {
    columns.push_back(Align::right);
    head.push_back(name(i));
  }
  columns.push_back(Align::right);
  head.emplace_back("recall");
  TextTable table(columns);
  table.add_row(head);
  for (int64_t actual = 0; actual < counts.classes(); ++actual) {
    std::vector<std::string> row = {name(actual)};
    for (int64_t i = 0; i < counts.classes(); ++i) {
      row.push_back(fmt::format("{}", counts.count(actual, i)));
    }
    row.push_back(fmt::format("{:.2f} %", percent(counts.recall(actual))));
    table.add_row(row);
  }
  return table.to_string();
}

Config confusion_config(const train::ConfusionMatrix& counts) {
  Config::List rows;
  for (int64_t actual = 0; actual < counts.classes(); ++actual) {
    Config::List row;
    for (int64_t i = 0; i < counts.classes(); ++i) {
      row.emplace_back(counts.count(actual, i));
    }
    rows.emplace_back(std::move(row));
  }
  return Config(std::move(rows));
}

/// Accuracy at chance level indicates wrong preprocessing or labels.
void warn_of_guessing(const EvaluateOptions& o, const Model& model,
                      const train::Evaluation& result) {
  constexpr int64_t kFewest = 50;
  const int64_t classes = model.outputs()[0].shape()[-1];
  if (o.model.what.starts_with("zoo:") || result.samples < kFewest ||
      classes < 3 || !(result.accuracy < 1.5 / static_cast<double>(classes))) {
    return;
  }
  warn(
      "chance_accuracy", "evaluate",
      fmt::format("accuracy {:.2f} % with {} classes is close to chance. Hint: "
                  "check the preprocessing (--preprocess, --resize, or the "
                  "scale of the .npy file) and the label order (--class-names)",
                  percent(result.accuracy), classes));
}

enum class Task { classification, detection };

void evaluate(const EvaluateOptions& o) {
  const Task task = choice<Task, 2>("--task", o.task,
                                    {{{"classification", Task::classification},
                                      {"detection", Task::detection}}});
  if (task == Task::detection) {
    if (o.confusion || !o.loss.empty() || o.part != "auto" || o.batch > 0) {
      throw ValueError("conflicting_options",
                       "--confusion, --loss, --part, --batch",
                       "do not apply to --task detection");
    }
    return evaluate_detector(
        {.model = o.model,
         .data = o.data,
         .head = o.head,
         .score = o.score < 0 ? kLowestScore : o.score,
         .overlap = o.overlap < 0 ? kLargestOverlap : o.overlap,
         .json = o.json});
  }
  if (!o.head.empty() || o.score >= 0 || o.overlap >= 0) {
    throw ValueError("conflicting_options", "--head, --score, --overlap",
                     "need --task detection");
  }
  warn_of_untrained(o.model);
  const Model model = read_model(o.model);
  const DataTarget target = target_of(model, o.model);
  const io::OpenedData opened = open_data(o.data, target);
  check_classes(model, o.model, opened);
  const auto [samples, name] = part_of(opened, o.part);
  const Measured by = measured_by(o.loss, model, samples, target.file_outputs);
  const Dataset data = data_for("evaluate", model, samples);
  if (!o.json) print(describe(name, data, opened, o.data, target));
  train::EvaluateOptions options{.batch_size = o.batch > 0 ? o.batch : kBatch,
                                 .loss = by.loss};
  if (o.json) options.verbose = false;
  const train::Evaluation result = train::evaluate(model, data, options);
  std::optional<train::ConfusionMatrix> counts;
  if (o.confusion) counts = train::confusion_matrix(model, data);
  warn_of_guessing(o, model, result);
  warn_of_class_order("evaluate", model, data, opened, result.accuracy);
  if (o.json) {
    Config config = to_config(result, by.name);
    config.set("model", o.model.what).set("data", opened.kind);
    add_inputs(config, opened, o.data, target);
    if (counts) config.set("confusion", confusion_config(*counts));
    print(io::to_json(config) + "\n");
    return;
  }
  print(to_text(result, by.name));
  if (o.confusion) print("\n" + confusion_text(*counts, opened.classes));
}

}  // namespace

void add_evaluate(CommandLine& program) {
  const auto options = std::make_shared<EvaluateOptions>();
  EvaluateOptions& o = *options;
  Command command = program.add_command(
      "evaluate", "Measure the loss and accuracy of a model");
  add_model(command, o.model, kModelHelp);
  add_data_options(command, o.data);
  command.begin_group("Input");
  command
      .add("--part", o.part,
           "part of the data; auto: the test part if there is one")
      .type("auto|train|test")
      .show_default();
  command.begin_group("Evaluation");
  add_loss_option(command, o.loss);
  command.add("--batch", o.batch, 1, 1 << 20,
              fmt::format("batch size (default: {})", kBatch).c_str());
  command.add("--task", o.task, "task of the model")
      .type("classification|detection")
      .show_default();
  command
      .add("--head", o.head,
           "detection: format of the output (default: from its shape)")
      .type("yolov8|yolov5|end2end");
  command.add("--score", o.score, 0.0, 1.0,
              fmt::format("detection: lowest score of a box (default: {})",
                          kLowestScore)
                  .c_str());
  command.add(
      "--overlap", o.overlap, 0.0, 1.0,
      fmt::format("detection: intersection over union of two boxes above which "
                  "the box with the lower score is dropped (default: {})",
                  kLargestOverlap)
          .c_str());
  command.add_flag("--confusion", o.confusion,
                   "count samples by class and prediction");
  command.begin_group("Output");
  command.add_flag("--json", o.json, "print JSON");
  command.set_footer(
      (std::string(kDataHelp) + kImageHelp + kEvaluateExamples).c_str());
  command.when_chosen([options] { evaluate(*options); });
}

}  // namespace octet::program
