#include <algorithm>
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

#include <octet/io/data.h>
#include <octet/io/detail/checks.h>
#include <octet/runtime/detail/exact_floats.h>
#include <octet/runtime/detail/shape_hint.h>
#include <octet/runtime/error.h>

#include "../common/program.h"
#include "commands.h"
#include "data_options.h"
#include "image_inputs.h"
#include "name_value_args.h"
#include "predictor.h"
#include "samples_run.h"
#include "write_results.h"

namespace octet::program {
namespace {

constexpr const char* kPredictExamples = R"(
Axis order:
  Samples have the axis order of the model file: NHWC for Keras and Octet,
  usually NCHW for ONNX (octet inspect MODEL.onnx). The other order is
  recognized by its shape and transposed; --layout decides if both fit. Outputs
  have the axis order of the model file.

ONNX files run node by node, on inputs of the file's types and shapes, scalars
included. If the first axis of all inputs and outputs is a batch, samples run in
batches; the number of samples must be a multiple of a fixed batch size. Files
whose samples depend on each other run on all samples at once.

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

struct PredictOptions {
  ModelSource model;
  // Paths, or NAME=path.
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;  // outputs or labels may be empty
  std::vector<std::string> labels;
  std::optional<std::string> layout;
  int64_t batch = 0;   // 0: the default of the model
  DataOptions images;  // preprocessing of image files
};

// Returns whether `given` has all fixed sizes of `wanted`.
bool fits(const Shape& given, const Shape& wanted) {
  return std::ranges::equal(
      given.dims(), wanted.dims(), [](int64_t size, int64_t expected) {
        return expected == Shape::kAnySize || size == expected;
      });
}

/// Returns the probable cause of a wrong shape as NumPy code, or "".
std::string hint(const Shape& wanted, const Shape& x) {
  const std::string sizes =
      fmt::format("(-1, {})", fmt::join(sample(wanted).dims(), ", "));
  switch (slip_of(x, wanted)) {
    case ShapeSlip::none:
      return "";
    case ShapeSlip::no_samples_axis:
      return fits(x, sample(wanted))
                 ? ". Hint: add a batch axis with x[None]"
                 : fmt::format(". Hint: x.reshape{}", sizes);
    case ShapeSlip::no_channels_axis:
      return fmt::format(". Hint: x.reshape{}", sizes);
    case ShapeSlip::flattened:
      return fmt::format(
          ". Hint: x.reshape{} if the vectors are flattened row by row", sizes);
    case ShapeSlip::channels_first:
      return ". Hint: convert NCHW to NHWC, x.transpose(0, 2, 3, 1)";
    case ShapeSlip::channels_last:
      return ". Hint: convert NHWC to NCHW, x.transpose(0, 3, 1, 2)";
    case ShapeSlip::another_order:
      return ". Hint: the axes are permuted";
  }
  return "";
}

/// `samples`: whether the first axis is the batch.
void check_input(const Tensor& x, const RunnableInput& input, bool samples,
                 const std::string& path) {
  if (type_name(x.dtype()) != input.type) {
    const bool codes = input.type == "float32" && x.dtype() == DType::u8;
    throw FormatError(
        "dtype_mismatch", path,
        fmt::format("must be {}, got {}. Hint: x.astype(\"{}\"){}", input.type,
                    type_name(x.dtype()), input.type,
                    codes ? ", scaled as in training (usually / 255)" : ""));
  }
  if (!input.shape) return;
  const bool same_rank = x.shape().rank() == input.shape->rank();
  if (!same_rank || !(samples ? fits(sample(x.shape()), sample(*input.shape))
                              : fits(x.shape(), *input.shape))) {
    throw ShapeError("shape_mismatch", path,
                     fmt::format("shape must be {}, got {}{}", input.text,
                                 x.shape().to_string(),
                                 samples ? hint(*input.shape, x.shape()) : ""));
  }
  if (samples && x.shape()[0] < 1) {
    throw ShapeError("invalid_shape", path, "has no samples");
  }
}

/// Returns the probable cause of a wrong type or shape as NumPy code, or "".
std::string labels_hint(const Tensor& labels, int64_t n) {
  const Shape& shape = labels.shape();
  if (shape.rank() == 0 || shape[0] != n) {
    return fmt::format(". Hint: provide a class for each of the {} samples", n);
  }
  return io::labels_hint(labels);
}

Tensor read_labels(const std::string& path, int64_t n) {
  Tensor labels = io::read_npy(path);
  if (labels.dtype() != DType::i64 || labels.shape() != Shape{n}) {
    throw FormatError(
        "dtype_mismatch", path,
        fmt::format("labels must be int64 [{}], got {} {}{}", n,
                    type_name(labels.dtype()), labels.shape().to_string(),
                    labels_hint(labels, n)));
  }
  const int64_t least = std::ranges::min(labels.data<int64_t>());
  if (least < 0) {
    throw FormatError(
        "out_of_range", path,
        fmt::format("labels must not be negative, got {}", least));
  }
  return labels;
}

// Returns the number of samples whose largest score, the first of equal scores,
// is at their label. A sample with a NaN score does not count.
int64_t count_right(const Tensor& y, const Tensor& labels,
                    const std::string& path) {
  if (y.dtype() != DType::f32 || y.shape().rank() != 2) {
    throw UnsupportedError(
        "unsupported_model", "--labels",
        fmt::format("outputs must be scores float32 [N,classes], got {} {}",
                    type_name(y.dtype()), y.shape().to_string()));
  }
  const int64_t classes = y.shape()[1];
  if (classes < 2) {
    throw UnsupportedError(
        "unsupported_model", "--labels",
        fmt::format("outputs must be scores float32 [N,classes], got {}. Hint: "
                    "for a binary classifier, use octet evaluate",
                    y.shape().to_string()));
  }
  int64_t right = 0;
  for (int64_t i = 0; i < y.shape()[0]; ++i) {
    const int64_t label = labels.data<int64_t>()[static_cast<size_t>(i)];
    if (label >= classes) {
      throw FormatError(
          "out_of_range", path,
          fmt::format("labels must be in [0,{}), got {}", classes, label));
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

/// Files of a run, per input or output; "" if none.
struct Files {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> labels;
};

Files files_of(const PredictOptions& options, const Predictor& model) {
  std::vector<std::string> names;
  for (const RunnableInput& input : model.inputs) names.push_back(input.name);
  Files files{paths_for("--input", options.inputs, names),
              paths_for("--output", options.outputs, model.outputs),
              paths_for("--labels", options.labels, model.outputs)};
  if (options.inputs.empty() && !names.empty()) {
    throw UsageError(
        "missing_value", "--input",
        fmt::format("missing --input for '{}'", fmt::join(names, "', '")));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (!files.inputs[i].empty()) continue;
    throw ValueError(
        "missing_value", "--input",
        fmt::format("needs a file for each of '{}', got none for '{}'",
                    fmt::join(names, "', '"), names[i]));
  }
  std::set<std::string> outputs;
  for (const std::string& output : files.outputs) {
    if (output.empty() || outputs.insert(output).second) continue;
    throw ValueError("duplicate_name", "--output",
                     fmt::format("'{}' is the file of two outputs", output));
  }
  return files;
}

std::vector<Tensor> read_inputs(const Predictor& model, const Files& files,
                                io::OnnxLayout layout) {
  const bool samples = model.samples.has_value();
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < files.inputs.size(); ++i) {
    inputs.push_back(in_wanted_order(io::read_npy(files.inputs[i]),
                                     model.inputs[i].orders, layout));
    if (model.inputs[i].is_index) {
      inputs[i] = exact_floats(inputs[i], files.inputs[i]);
    }
    check_input(inputs[i], model.inputs[i], samples, files.inputs[i]);
    if (!samples || inputs[i].shape()[0] == inputs[0].shape()[0]) continue;
    throw ShapeError("count_mismatch", files.inputs[i],
                     fmt::format("must have {} samples like '{}', got {}",
                                 inputs[0].shape()[0], files.inputs[0],
                                 inputs[i].shape()[0]));
  }
  return inputs;
}

/// Returns all outputs; outputs without a file are empty.
std::vector<Tensor> run(const Predictor& model, const Files& files,
                        std::vector<Tensor> inputs,
                        const PredictOptions& options) {
  SamplesRun run{options.model, model, std::move(inputs), files.inputs, {}, {},
                 options.batch};
  for (size_t i = 0; i < model.outputs.size(); ++i) {
    run.per_sample.push_back(!files.labels[i].empty());
    run.needed.push_back(!files.outputs[i].empty() || run.per_sample[i]);
  }
  return run_samples(run);
}

// Writes the output files. Returns the descriptor for the report: standard
// error if an output is a pipe or device, as in `--output /dev/stdout | ...`.
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

/// Returns whether the only input is an image or a folder of images.
bool takes_images(const PredictOptions& options) {
  return options.inputs.size() == 1 && is_image_path(options.inputs[0]);
}

void run_images(const PredictOptions& options) {
  if (!options.labels.empty()) {
    throw ValueError("conflicting_options", "--labels",
                     "applies to .npy inputs, got images. Hint: use octet "
                     "evaluate --data FOLDER with a subfolder per class");
  }
  predict_images({.model = options.model,
                  .path = options.inputs[0],
                  .outputs = options.outputs,
                  .images = options.images,
                  .batch = options.batch});
}

void predict(const PredictOptions& options) {
  // Checks options before loading the model, which may take long.
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
  const Predictor model = load_predictor(options.model);
  const Files files = files_of(options, model);
  for (const std::string& output : files.outputs) {
    if (!output.empty()) check_output(output);
  }
  const std::vector<Tensor> inputs = read_inputs(model, files, layout);
  const int64_t n = sample_count(inputs);
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
  const auto options = std::make_shared<PredictOptions>();
  Command command =
      program.add_command("predict", "Run a model on samples or images");
  add_model(command, options->model, kModelHelp);
  command.begin_group("Input");
  command
      .add("--input", options->inputs,
           "samples [N,...], NAME=X.npy per input; or a PNG or JPEG image, or "
           "a folder of images at any depth")
      .type("X.npy|IMAGE|DIR");
  add_layout_option(command, options->layout,
                    "axis order of samples whose shape fits NHWC and NCHW "
                    "(default: the model file's)");
  command
      .add("--labels", options->labels,
           "class labels int64 [N], to print accuracy; NAME=L.npy per output")
      .type("L.npy");
  command.add(
      "--batch", options->batch, 1, 1 << 20,
      "batch size (default: 256; for an ONNX file its fixed size, else 16)");
  add_image_options(command, options->images);
  command.begin_group("Output");
  command
      .add("-o,--output", options->outputs,
           "output file; .csv and .json of images list their classes; "
           "NAME=Y.npy per output")
      .type("Y.npy|Y.csv|Y.json")
      .writes({".npy", ".csv", ".json"}, OtherNames::unknown);
  command.set_footer((std::string(kImageHelp) + kPredictExamples).c_str());
  command.when_chosen([options] {
    if (options->outputs.empty() && options->labels.empty() &&
        !takes_images(*options)) {
      throw UsageError("missing_value", "--output",
                       "missing --output or --labels");
    }
    predict(*options);
  });
}

}  // namespace octet::program
