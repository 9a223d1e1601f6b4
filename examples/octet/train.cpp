// octet train: from a network and a folder of samples to a trained model.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include <fmt/format.h>

#include <octet/io/checkpoint.h>
#include <octet/io/json.h>
#include <octet/io/onnx.h>
#include <octet/layers/model_data.h>
#include <octet/layers/zoo.h>
#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>
#include <octet/train/batch_statistics.h>

#include "../program.h"
#include "commands.h"
#include "data_options.h"
#include "loss_options.h"
#include "read_model.h"
#include "training_options.h"

namespace octet::program {
namespace {

constexpr const char* kTrainExamples = R"(
Examples:
  octet train zoo:mobilenet_v1_025 --data photos/ --input-shape 96,96,3 \
    --augment flip,crop --epochs 30 -o model.h5
  octet train zoo:lenet --data /usr/share/datasets/fashion-mnist -o lenet.h5
  octet train model.keras --data x.npy --labels y.npy --rate 1e-4 -o tuned.h5
  octet train zoo:resnet8 --data cifar/ --checkpoint runs/a --resume -o r8.h5
)";

constexpr std::string_view kZooPrefix = "zoo:";

struct Options {
  ModelSource model;
  DataOptions data;
  TrainingOptions training{
      .epochs = 10, .optimizer = "adamw", .schedule = "cosine", .warmup = 0.05};
  int64_t classes = 0;  // 0: those of the data
  double alpha = 0;
  std::string output;
  bool json = false;
};

bool is_zoo(const Options& o) { return o.model.what.starts_with(kZooPrefix); }

zoo::Options zoo_options(const Options& o) {
  zoo::Options options{.alpha = o.alpha,
                       .seed = static_cast<uint64_t>(o.training.seed)};
  const std::vector<Shape> shapes = input_shapes(o.model);
  if (!shapes.empty()) options.input = shapes[0];
  return options;
}

std::string_view zoo_name(const Options& o) {
  return std::string_view(o.model.what).substr(kZooPrefix.size());
}

/// How many classes a network of the zoo is to tell apart.
int64_t classes_of(const Options& o, const io::OpenedData& data) {
  if (data.train.label_specs().empty()) {
    throw ValueError("--labels: expected a file for x.npy, got none");
  }
  if (data.train.label_type() != DType::i64) {
    if (o.classes > 0) return o.classes;
    const Shape shape = data.train.label_shape();
    return shape.rank() == 0 ? 1 : shape[-1];
  }
  const Tensor labels = data.train.labels();
  const int64_t found = data.classes.empty()
                            ? std::ranges::max(labels.data<int64_t>()) + 1
                            : std::ssize(data.classes);
  if (o.classes == 0) return found;
  if (o.classes < found || (!data.classes.empty() && o.classes != found)) {
    throw ValueError(fmt::format(
        "--classes: expected {}, as the data has, got {}", found, o.classes));
  }
  return o.classes;
}

struct Job {
  Model model;
  DataTarget target;
  io::OpenedData data;
};

Job open_job(const Options& o) {
  if (!is_zoo(o)) {
    if (o.classes > 0 || o.alpha > 0) {
      throw ValueError(fmt::format(
          "--classes and --alpha: expected a network of the zoo, got '{}', "
          "which has its own",
          o.model.what));
    }
    Model model = read_model(o.model);
    DataTarget target = target_of(model, o.model);
    io::OpenedData data = open_data(o.data, target);
    check_classes(model, o.model, data);
    return {std::move(model), std::move(target), std::move(data)};
  }
  check_no_architecture(o.model);
  zoo::Options options = zoo_options(o);
  DataTarget target = target_of(zoo::make(zoo_name(o), options), o.model);
  io::OpenedData data = open_data(o.data, target);
  const Shape input = data.train.input_shape();
  if (options.input.rank() > 0 && options.input != input) {
    throw ValueError(
        fmt::format("--input-shape: expected {}, as the data has, got {}",
                    input.to_string(), options.input.to_string()));
  }
  options.input = input;
  options.classes = classes_of(o, data);
  return {zoo::make(zoo_name(o), options), std::move(target), std::move(data)};
}

/// Sets running statistics that did not follow the training anew. Returns
/// whether it did.
bool renew_statistics(Model& model, const Dataset& data,
                      const train::FitOptions& options) {
  constexpr double kLargestShare = 0.1;
  const int64_t batch =
      options.batch_size.value_or(std::min<int64_t>(64, data.size()));
  const double steps =
      static_cast<double>(options.epochs) *
      std::ceil(static_cast<double>(data.size()) / static_cast<double>(batch));
  const bool late = std::ranges::any_of(model.layers(), [&](const auto& layer) {
    return layer->class_name() == "BatchNormalization" &&
           !layer->statistics_frozen() &&
           std::pow(layer->config().at("momentum").as_number(), steps) >
               kLargestShare;
  });
  return late && train::update_batch_statistics(
                     model, data,
                     {.batch_size = batch,
                      .samples = std::min<int64_t>(8192, data.size())}) > 0;
}

std::string write_model(const Options& o, const Model& model,
                        const std::vector<std::string>& classes,
                        const std::string& preprocess,
                        const std::string& resize) {
  const bool named = std::ssize(classes) == model.outputs()[0].shape()[-1];
  const std::vector<std::string> names =
      named ? classes : std::vector<std::string>();
  if (!o.output.ends_with(".onnx")) {
    io::save_model(
        model, o.output,
        {.classes = names, .preprocess = preprocess, .resize = resize});
    return o.output;
  }
  const io::OnnxReport report = io::export_onnx(
      model, o.output,
      {.classes = names, .preprocess = preprocess, .resize = resize});
  return fmt::format("{}: {} nodes, {} bytes", o.output, report.nodes,
                     report.bytes);
}

void train_model(const Options& o) {
  check_output(o.output);
  check_not_read(o.output, files_of(o.model, o.data));
  check_training_options(o.training);
  if (o.training.threads > 0) {
    set_num_threads(static_cast<int>(o.training.threads));
  }
  Job job = open_job(o);
  Model& model = job.model;
  const TrainingParts parts =
      parts_of(job.data, o.training, o.data, job.target);
  const Measured by = measured_by(o.training.loss, model, parts.training);
  train::FitOptions options =
      fit_options_of(o.training, parts, "train", o.json);
  options.optimizer = make_optimizer(o.training.optimizer, o.training.rate);
  options.schedule = make_schedule(o.training);
  options.loss = by.loss;
  if (!o.json) {
    print(describe("training samples", parts.training, job.data, o.data,
                   job.target));
    print(fmt::format("{} for validation: {}\n",
                      parts.validation ? parts.validation->size() : 0,
                      parts.validation_is));
    print(fmt::format("{}: {} parameters, {} outputs, {} threads\n",
                      o.model.what, model.parameter_count(),
                      model.outputs()[0].shape()[-1], num_threads()));
  }
  const train::History history = train::fit(model, parts.training, options);
  const bool renewed = renew_statistics(model, parts.training, options);
  const Dataset judged = parts.validation ? *parts.validation : parts.training;
  const train::Evaluation result =
      train::evaluate(model, judged, {.loss = by.loss, .verbose = false});
  const std::string written =
      write_model(o, model, job.data.classes,
                  preprocess_to_keep(job.data, o.data, job.target),
                  resize_to_keep(job.data, o.data, job.target));
  if (o.json) {
    double seconds = 0;
    for (const auto& epoch : history) seconds += epoch.seconds;
    Config config = to_config(result, by.name);
    config.set("judged_by", parts.validation ? "validation" : "training")
        .set("training_samples", parts.training.size())
        .set("epochs", o.training.epochs)
        .set("training_loss", history.back().loss)
        .set("seconds", seconds)
        .set("statistics_renewed", renewed)
        .set("parameters", model.parameter_count())
        .set("output", o.output);
    print(io::to_json(config) + "\n");
    return;
  }
  if (renewed) {
    print(
        "running statistics of batch normalization: taken anew from the "
        "training samples\n");
  }
  print(fmt::format("{} {} samples:\n",
                    parts.validation ? "on the validation data," : "on the",
                    parts.validation
                        ? std::to_string(judged.size())
                        : "training data itself, as there is no other,"));
  print(to_text(result, by.name));
  print(written + "\n");
}

std::string not_a_model_file(const std::string& path) {
  if (path.ends_with(".h5") || path.ends_with(".onnx")) return {};
  return "expected the name of an .h5 or .onnx file, got '" + path + "'";
}

}  // namespace

void add_train(CommandLine& program) {
  const auto options = std::make_shared<Options>();
  Options& o = *options;
  Command command = program.add_command(
      "train", "Train a network of the zoo, or a model's file, on samples");
  add_model(command, o.model, kModelHelp);
  add_data_options(command, o.data);
  command
      .add("-o,--output", o.output,
           "what to write: .h5 trains and quantizes on, .onnx ships")
      .type("OUT.h5")
      .required()
      .check(not_a_model_file);
  command.add("--classes", o.classes, 1, 1 << 24,
              "outputs of a network of the zoo [as the data has]");
  command.add("--alpha", o.alpha, 1e-3, 64,
              "width of one that comes in several");
  add_training_options(
      command, o.training,
      {.epochs = "passes over the samples [10]",
       .rate = "largest learning rate [0.001; of sgd 0.05, of lion 0.0002]",
       .optimizer = "how weights move [adamw]; sgd has momentum 0.9",
       .schedule = "of the rate: to 1 % of it by a cosine or exponential, or a "
                   "tenth after each third [cosine]"});
  command.add_flag("--json", o.json, "print JSON instead");
  command.set_footer((std::string(kDataHelp) + kTrainExamples).c_str());
  command.when_chosen([options] { train_model(*options); });
}

}  // namespace octet::program
