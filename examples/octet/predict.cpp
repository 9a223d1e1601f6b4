#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <octet/io/npy.h>
#include <octet/io/open_data.h>
#include <octet/runtime/error.h>
#include <octet/runtime/shape_hint.h>

#include "../program.h"
#include "commands.h"
#include "data_options.h"
#include "image_inputs.h"
#include "named_values.h"
#include "runnable.h"
#include "write_results.h"

namespace octet::program {
namespace {

constexpr const char* kRunnableHelp =
    "zoo:NAME, or a file of Keras, Octet or ONNX (.h5, .keras, .onnx)";

constexpr const char* kExamples = R"(Layouts:
  Samples have the axis order of the model's file: images NHWC for files of
  Keras and Octet; for an ONNX file the order of its graph, NCHW as a rule
  (octet inspect MODEL.onnx). Samples of the other order are recognized by their
  shape and transposed; where both fit, --layout decides. Outputs have the order
  of the model's file. Where the first size of an ONNX file is fixed, the
  samples must be a multiple of it.

Examples:
  octet predict model.keras --input photo.jpg
  octet predict yolo.onnx --input photos/ --pad --output y.npy
  octet predict resnet18.onnx --input photos/ --preprocess torch --crop 256 \
      --class-names imagenet.txt --output classes.csv
  octet predict model.keras --input x.npy --output y.npy --labels l.npy
  octet predict int8.onnx --input x_nchw.npy --output y.npy --batch 32
  octet predict int8.onnx --input x_nchw.npy --labels l.npy
  octet predict pair.onnx --input left=a.npy --input right=b.npy --output y.npy
)";

struct Options {
  ModelSource model;
  // Each a path, or NAME=path.
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;  // these may be empty, but not both
  std::vector<std::string> labels;
  std::optional<std::string> layout;
  int64_t batch = 0;   // 0: as the model has it
  DataOptions images;  // of image files
};

Shape sample(const Shape& shape) { return shape.slice(1, shape.rank()); }

// Whether `given` has the sizes that are not open.
bool fits(const Shape& given, const Shape& wanted) {
  return std::ranges::equal(
      given.dims(), wanted.dims(), [](int64_t size, int64_t expected) {
        return expected == Shape::kAnySize || size == expected;
      });
}

/// What a wrong shape might have come from, in NumPy's words, or nothing.
std::string hint(const Shape& wanted, const Shape& x) {
  const std::string sizes =
      fmt::format("(-1, {})", fmt::join(sample(wanted).dims(), ", "));
  switch (slip_of(x, wanted)) {
    case ShapeSlip::none:
      return "";
    case ShapeSlip::no_samples_axis:
      return fits(x, sample(wanted)) ? "; add the axis of the samples: x[None]"
                                     : fmt::format("; x.reshape{}", sizes);
    case ShapeSlip::no_channels_axis:
      return fmt::format("; x.reshape{}", sizes);
    case ShapeSlip::flattened:
      return fmt::format(
          "; x.reshape{}, if the vectors are such samples row by row", sizes);
    case ShapeSlip::channels_first:
      return "; these are images with the channels first (NCHW), the model "
             "takes them last (NHWC): x.transpose(0, 2, 3, 1)";
    case ShapeSlip::channels_last:
      return "; these are images with the channels last (NHWC), the model "
             "takes them first (NCHW): x.transpose(0, 3, 1, 2)";
    case ShapeSlip::another_order:
      return "; these are the same sizes in another order";
  }
  return "";
}

void check_input(const Tensor& x, const RunnableInput& input,
                 const std::string& path) {
  if (type_name(x.dtype()) != input.type) {
    const bool codes = input.type == "float32" && x.dtype() == DType::u8;
    throw FormatError(
        fmt::format("'{}': expected {}, got {}. Hint: x.astype(\"{}\"){}", path,
                    input.type, type_name(x.dtype()), input.type,
                    codes ? ", scaled as in training: / 255, as a rule" : ""));
  }
  if (x.shape().rank() != input.shape.rank() ||
      !fits(sample(x.shape()), sample(input.shape))) {
    throw ShapeError(fmt::format("'{}': expected shape {}, got {}{}", path,
                                 input.text, x.shape().to_string(),
                                 hint(input.shape, x.shape())));
  }
  if (x.shape()[0] < 1) {
    throw ShapeError(
        fmt::format("'{}': expected at least one sample, got none", path));
  }
}

// Samples at a time.
int64_t batch_of(const Options& options, const Runnable& model, int64_t n) {
  int64_t fixed = Shape::kAnySize;
  for (const RunnableInput& input : model.inputs) {
    const int64_t own = input.shape[0];
    if (own == Shape::kAnySize) continue;
    if (fixed != Shape::kAnySize && own != fixed) {
      throw UnsupportedError(
          fmt::format("'{}': expected inputs of as many samples, got {} and {}",
                      options.model.what, fixed, own));
    }
    fixed = own;
  }
  if (fixed == Shape::kAnySize) {
    return options.batch == 0 ? model.batch : options.batch;
  }
  if (options.batch != 0 && options.batch != fixed) {
    throw ValueError(
        fmt::format("--batch: expected {}, which is fixed in '{}', got {}",
                    fixed, options.model.what, options.batch));
  }
  if (fixed < 1 || n % fixed != 0) {
    throw ShapeError(fmt::format(
        "'{}': expected a multiple of the {} samples that are fixed in '{}', "
        "got {}",
        options.inputs[0], fixed, options.model.what, n));
  }
  return fixed;
}

// y, for all n samples, as the results for some of them are. A file decides how
// large it is.
Tensor make_results(const Tensor& part, int64_t n, const Options& options) {
  const Shape one = sample(part.shape());
  const int64_t room = options.model.limits().memory_limit / n;
  if (one.size() > room / size_of(part.dtype())) {
    throw FormatError(fmt::format(
        "'{}': expected results of at most {} MiB, got {} for {} samples; "
        "Hint: give it fewer samples, or raise --memory-limit",
        options.model.what, options.model.memory_mib, one.to_string(), n));
  }
  return Tensor(part.shape().with(0, n), part.dtype());
}

// Puts the results for samples from `first` on into their place in y.
void place(const Tensor& part, int64_t first, int64_t count, int64_t n,
           const Options& options, Tensor& y) {
  // All at once: the first axis may be another than that of the samples.
  if (count == n && options.labels.empty()) {
    y = part;
    return;
  }
  if (part.shape().rank() < 1 || part.shape()[0] != count ||
      (!y.empty() && sample(y.shape()) != sample(part.shape()))) {
    throw UnsupportedError(fmt::format(
        "predict: expected an output of equal results for each sample, got {} "
        "for {} samples. Hint: --batch {} runs all at once, without --labels",
        part.shape().to_string(), count, n));
  }
  if (y.empty()) y = make_results(part, n, options);
  Tensor rows = y.slice(first, count);
  std::memcpy(rows.raw(), part.raw(), static_cast<size_t>(part.bytes()));
}

/// What labels of another type or shape may be, in NumPy's words.
std::string labels_hint(const Tensor& labels, int64_t n) {
  const Shape& shape = labels.shape();
  if (shape.rank() == 0 || shape[0] != n) {
    return fmt::format(". Hint: one class for each of the {} samples", n);
  }
  return io::labels_hint(labels);
}

Tensor read_labels(const std::string& path, int64_t n) {
  Tensor labels = io::read_npy(path);
  if (labels.dtype() != DType::i64 || labels.shape() != Shape{n}) {
    throw FormatError(fmt::format("'{}': expected int64 [{}], got {} {}{}",
                                  path, n, type_name(labels.dtype()),
                                  labels.shape().to_string(),
                                  labels_hint(labels, n)));
  }
  const int64_t least = std::ranges::min(labels.data<int64_t>());
  if (least < 0) {
    throw FormatError(
        fmt::format("'{}': expected labels >= 0, got {}", path, least));
  }
  return labels;
}

// How many samples have their largest score, the first of equal ones, at their
// label. Where a score is not a number none is the largest.
int64_t count_right(const Tensor& y, const Tensor& labels,
                    const std::string& path) {
  if (y.dtype() != DType::f32 || y.shape().rank() != 2) {
    throw UnsupportedError(
        fmt::format("--labels: expected scores float32 [N,classes], got {} {}",
                    type_name(y.dtype()), y.shape().to_string()));
  }
  const int64_t classes = y.shape()[1];
  if (classes < 2) {
    throw UnsupportedError(fmt::format(
        "--labels: expected scores float32 [N,classes], got {}. Hint: one "
        "score is a probability or a logit; octet evaluate knows which",
        y.shape().to_string()));
  }
  int64_t right = 0;
  for (int64_t i = 0; i < y.shape()[0]; ++i) {
    const int64_t label = labels.data<int64_t>()[static_cast<size_t>(i)];
    if (label >= classes) {
      throw FormatError(fmt::format("'{}': expected labels in [0,{}), got {}",
                                    path, classes, label));
    }
    const Tensor scores = y.slice(i, 1);
    if (std::ranges::any_of(scores.f32(), [](float s) { return s != s; })) {
      continue;
    }
    const auto best = std::ranges::max_element(scores.f32());
    right += best - scores.f32().begin() == label ? 1 : 0;
  }
  return right;
}

/// The files of one run, for each input or output; "" where there is none.
struct Files {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> labels;
};

Files files_of(const Options& options, const Runnable& model) {
  std::vector<std::string> names;
  for (const RunnableInput& input : model.inputs) names.push_back(input.name);
  Files files{paths_for("--input", options.inputs, names),
              paths_for("--output", options.outputs, model.outputs),
              paths_for("--labels", options.labels, model.outputs)};
  for (size_t i = 0; i < names.size(); ++i) {
    if (!files.inputs[i].empty()) continue;
    throw ValueError(
        fmt::format("--input: expected a file for each of '{}', got none for "
                    "'{}'",
                    fmt::join(names, "', '"), names[i]));
  }
  std::set<std::string> outputs;
  for (const std::string& output : files.outputs) {
    if (output.empty() || outputs.insert(output).second) continue;
    throw ValueError(fmt::format(
        "--output: expected a file for each output, got '{}' twice", output));
  }
  return files;
}

std::vector<Tensor> read_inputs(const Runnable& model, const Files& files,
                                io::OnnxLayout layout) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < files.inputs.size(); ++i) {
    inputs.push_back(in_wanted_order(io::read_npy(files.inputs[i]),
                                     model.inputs[i].orders, layout));
    check_input(inputs[i], model.inputs[i], files.inputs[i]);
    if (inputs[i].shape()[0] == inputs[0].shape()[0]) continue;
    throw ShapeError(fmt::format("'{}': expected {} samples as in '{}', got {}",
                                 files.inputs[i], inputs[0].shape()[0],
                                 files.inputs[0], inputs[i].shape()[0]));
  }
  return inputs;
}

/// All outputs; those without a file are empty.
std::vector<Tensor> run(const Runnable& model, const Files& files,
                        const std::vector<Tensor>& inputs,
                        const Options& options) {
  const int64_t n = inputs[0].shape()[0];
  const int64_t batch = batch_of(options, model, n);
  std::vector<Tensor> all(model.outputs.size());
  for (int64_t first = 0; first < n; first += batch) {
    const int64_t count = std::min(batch, n - first);
    std::vector<Tensor> part;
    for (const Tensor& x : inputs) part.push_back(x.slice(first, count));
    const std::vector<Tensor> answers = model.predict(part);
    for (size_t i = 0; i < all.size(); ++i) {
      if (files.outputs[i].empty() && files.labels[i].empty()) continue;
      place(answers[i], first, count, n, options, all[i]);
    }
  }
  return all;
}

// Writes the files. Returns where to report: not into the results, as in
// `--output /dev/stdout | ...`.
int write(const Files& files, const std::vector<std::string>& names,
          const std::vector<Tensor>& outputs) {
  int report = STDOUT_FILENO;
  for (const std::string& path : files.outputs) {
    if (!path.empty() && std::filesystem::exists(path) &&
        !std::filesystem::is_regular_file(path)) {
      report = STDERR_FILENO;
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (files.outputs[i].empty()) continue;
    write_results(files.outputs[i], names[i], outputs[i]);
    print(fmt::format("{}: {}\n", files.outputs[i],
                      outputs[i].shape().to_string()),
          report);
  }
  return report;
}

/// Whether the only input is an image, or a folder of images.
bool takes_images(const Options& options) {
  return options.inputs.size() == 1 && is_image_path(options.inputs[0]);
}

void run_images(const Options& options) {
  if (!options.labels.empty()) {
    throw ValueError(
        "--labels: expected .npy files as --input, got images. Hint: octet "
        "evaluate --data FOLDER, with a folder for each class");
  }
  predict_images({.model = options.model,
                  .path = options.inputs[0],
                  .outputs = options.outputs,
                  .images = options.images,
                  .batch = options.batch});
}

void predict(const Options& options) {
  // Before the model is read, which may take long.
  const io::OnnxLayout layout = layout_of(options.layout);
  for (const std::string& output : options.outputs) {
    check_output(output.substr(output.find('=') + 1));
  }
  warn_of_untrained(options.model);
  if (takes_images(options)) {
    run_images(options);
    return;
  }
  check_no_image_options(options.images);
  const Runnable model = read_runnable(options.model);
  const Files files = files_of(options, model);
  for (const std::string& output : files.outputs) {
    if (!output.empty()) check_output(output);
  }
  const std::vector<Tensor> inputs = read_inputs(model, files, layout);
  const int64_t n = inputs[0].shape()[0];
  std::vector<Tensor> labels(files.labels.size());
  for (size_t i = 0; i < labels.size(); ++i) {
    if (!files.labels[i].empty()) labels[i] = read_labels(files.labels[i], n);
  }
  const std::vector<Tensor> outputs = run(model, files, inputs, options);
  const int report = write(files, model.outputs, outputs);
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i].empty()) continue;
    const int64_t right = count_right(outputs[i], labels[i], files.labels[i]);
    print(
        fmt::format(
            "accuracy{}: {:.2f} % ({} of {})\n",
            labels.size() > 1 ? fmt::format(" of '{}'", model.outputs[i]) : "",
            100.0 * static_cast<double>(right) / static_cast<double>(n), right,
            n),
        report);
  }
}

}  // namespace

void add_predict(CommandLine& program) {
  const auto options = std::make_shared<Options>();
  Command command = program.add_command(
      "predict", "Run a model on the samples of a .npy file, or on images");
  add_model(command, options->model, kRunnableHelp);
  command
      .add("--input", options->inputs,
           "X.npy: [N,...] in the model's type and layout; NAME=X.npy for each "
           "of several inputs; or an image (PNG, JPEG), or a folder with "
           "images at any depth")
      .required();
  add_layout_option(command, options->layout,
                    "axis order of the samples [as in the model's file; the "
                    "other one is recognized by the shape]");
  command
      .add("-o,--output", options->outputs,
           "Y.npy, Y.csv or Y.json: the file to write, unless --labels are "
           "all it is for; NAME=Y.npy of several outputs; of images, .csv and "
           ".json have the classes of each file")
      .writes({".npy", ".csv", ".json"}, OtherNames::unknown);
  command.add("--labels", options->labels,
              "L.npy: int64 [N], what is right, to print the accuracy "
              "of a classifier; NAME=L.npy of several outputs");
  command.add("--batch", options->batch, 1, 1 << 20,
              "samples at a time [256; 16 of an ONNX file, or what it fixes]");
  add_image_options(command, options->images);
  command.set_footer(kExamples);
  command.when_chosen([options] {
    if (options->outputs.empty() && options->labels.empty() &&
        !takes_images(*options)) {
      throw UsageError("expected --output or --labels, got none");
    }
    predict(*options);
  });
}

}  // namespace octet::program
