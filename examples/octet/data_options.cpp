#include "data_options.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/io/checkpoint.h>
#include <octet/io/npy.h>
#include <octet/layers/model_data.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

#include "io_names.h"
#include "named_values.h"

namespace octet::program {
namespace {

/// Whether the first thing it does with its input is to divide by 32 or more:
/// bytes become small numbers. Layers that take [0,1] to other ranges do not.
bool takes_pixels(const Model& model) {
  if (model.inputs().size() != 1) return false;
  const GraphNode* input = model.inputs()[0].node.get();
  for (const auto& node : model.nodes()) {
    if (node->inputs.empty() || node->inputs[0].node.get() != input) continue;
    if (node->layer->class_name() != "Rescaling") return false;
    constexpr double kLargest = 1.0 / 32;
    double largest = 0;
    const Config config = node->layer->config();
    const Config& scale = config.at("scale");
    if (!scale.is_list()) return std::abs(scale.as_number()) <= kLargest;
    for (const Config& entry : scale.as_list()) {
      largest = std::max(largest, std::abs(entry.as_number()));
    }
    return largest <= kLargest;
  }
  return false;
}

/// What the model's file says that bytes were, or "".
std::string trained_mode(const ModelSource& source) {
  return source.what.starts_with("zoo:")
             ? std::string()
             : io::trained_preprocess(source.what, source.limits());
}

/// Whether the model comes from an ONNX file with an input of bytes.
bool takes_bytes(const ModelSource& source) {
  const auto ports = interface_of(source).inputs;
  return ports.size() == 1 && ports[0].type == "uint8";
}

/// They are taken as they are.
bool has_floats(const io::OpenedData& opened, const DataOptions& options) {
  return options.preprocess.empty() &&
         opened.kind.find(".npy") != std::string::npos;
}

io::OpenOptions open_options(const DataOptions& o, const DataTarget& target) {
  return {.image = target.image,
          .preprocess =
              o.preprocess.empty() ? std::nullopt : std::optional(o.preprocess),
          .usual = target.usual,
          .takes_bytes = target.takes_bytes,
          // Of several inputs the others would move by a sample.
          .corrupt = o.skip_corrupt && target.inputs.size() == 1
                         ? io::CorruptFiles::skip
                         : io::CorruptFiles::refuse};
}

/// Of a model with several outputs: those that --labels has a file for.
std::vector<NamedTensor> named_labels(const DataOptions& o,
                                      const DataTarget& target, int64_t count) {
  const std::vector<std::string> files =
      paths_for("--labels", o.labels, target.outputs);
  std::vector<NamedTensor> labels;
  for (size_t i = 0; i < files.size(); ++i) {
    if (files[i].empty()) continue;
    labels.emplace_back(target.outputs[i], io::read_labels(files[i], count));
  }
  return labels;
}

/// Of a model with several inputs or outputs: a file for each.
io::OpenedData open_named(const DataOptions& o, const DataTarget& target) {
  const std::vector<std::string> files =
      paths_for("--data", o.paths, target.inputs);
  std::vector<NamedTensor> inputs;
  for (size_t i = 0; i < files.size(); ++i) {
    if (files[i].empty()) {
      throw ValueError(fmt::format(
          "--data: expected a file for each of '{}', got none for '{}'",
          fmt::join(target.inputs, "', '"), target.inputs[i]));
    }
    const io::OpenedData opened =
        io::open_data(files[i], open_options(o, target));
    const Dataset& one = opened.train;
    if (!o.labels.empty() && !one.label_specs().empty()) {
      throw ValueError(
          fmt::format("--labels: expected none beside the labels of {}, got "
                      "'{}'",
                      opened.kind, fmt::join(o.labels, "', '")));
    }
    inputs.emplace_back(target.inputs[i], one.batch(0, one.size()).input());
  }
  const int64_t count = inputs[0].tensor.shape()[0];
  std::vector<NamedTensor> labels = named_labels(o, target, count);
  return {.kind = files.size() == 1 ? "a .npy file" : ".npy files",
          .train = labels.empty()
                       ? Dataset::unlabelled(std::move(inputs))
                       : Dataset(std::move(inputs), std::move(labels))};
}

}  // namespace

void add_data_options(Command& command, DataOptions& o, LabelKinds labels) {
  command
      .add("--data", o.paths,
           "samples: x.npy, a folder of images, of IDX files or of CIFAR; "
           "NAME=x.npy for each of several inputs")
      .type("PATH")
      .required();
  command
      .add("--labels", o.labels,
           labels == LabelKinds::classes
               ? "int64 [N], or [N,H,W] for each pixel: the classes of an "
                 "x.npy; NAME=Y.npy for each of several outputs"
               : "int64 [N], or [N,H,W] for each pixel: the classes of an "
                 "x.npy; float32 [N,...], its targets; NAME=Y.npy for each of "
                 "several outputs")
      .type("Y.npy");
  command
      .add("--preprocess", o.preprocess,
           "what bytes become: unit [0,1], none [0,255], and Keras' tf "
           "[-1,1], torch and caffe; MEAN/STD as PyTorch's Normalize, "
           "0.1307/0.3081 or three of each [as the model was trained; else "
           "unit, "
           "or none where it divides by itself]")
      .type("MODE");
  add_layout_option(command, o.layout);
  command.add_flag("--skip-corrupt", o.skip_corrupt,
                   "leave out images that cannot be read, with a warning");
}

std::string mode_of(const Model& model, const ModelSource& source) {
  if (takes_bytes(source)) return "none";
  const std::string trained = trained_mode(source);
  return trained.empty() && takes_pixels(model) ? "none" : trained;
}

DataTarget target_of(const Model& model, const ModelSource& source) {
  DataTarget target;
  target.inputs = input_names(model);
  target.outputs = quant::output_names(model);
  target.trained = trained_mode(source);
  target.takes = mode_of(model, source);
  target.usual = target.takes.empty() ? "unit" : target.takes;
  target.takes_bytes = takes_bytes(source);
  // A file of Octet has its samples as Keras has, wherever it came from.
  const io::OnnxInterface file =
      is_onnx(source.what) ? interface_of(source) : io::OnnxInterface();
  target.input_orders =
      orders_of("input", model.inputs(), target.inputs, file.inputs);
  target.output_orders =
      orders_of("output", model.outputs(), target.outputs, file.outputs);
  if (target.inputs.size() == 1) {
    const Shape& shape = model.inputs()[0].shape();
    target.image = shape.slice(1, shape.rank());
  }
  return target;
}

namespace {

/// Images in other files than .npy have one axis order, which is read.
bool has_arrays(const io::OpenedData& opened) {
  return opened.kind.find(".npy") != std::string::npos;
}

io::OpenedData open_any(const DataOptions& o, const DataTarget& target) {
  if (!o.preprocess.empty() && !target.trained.empty() &&
      o.preprocess != target.trained) {
    warn(fmt::format(
        "--preprocess: the model was trained with '{}', its file says; got "
        "'{}'. Without the option it is as in training",
        target.trained, o.preprocess));
  }
  if (target.inputs.size() != 1 ||
      (target.outputs.size() != 1 && !o.labels.empty())) {
    return open_named(o, target);
  }
  io::OpenOptions options = open_options(o, target);
  if (!o.labels.empty()) {
    options.labels = paths_for("--labels", o.labels, target.outputs)[0];
  }
  return io::open_data(paths_for("--data", o.paths, target.inputs)[0], options);
}

}  // namespace

io::OpenedData open_data(const DataOptions& o, const DataTarget& target) {
  const io::OnnxLayout layout = layout_of(o.layout);
  io::OpenedData opened = open_any(o, target);
  if (!has_arrays(opened)) return opened;
  const auto in_order = [&](const Dataset& data) {
    return in_wanted_order(data, target.input_orders, target.output_orders,
                           layout);
  };
  opened.train = in_order(opened.train);
  if (opened.test) opened.test = in_order(*opened.test);
  return opened;
}

void check_classes(const Model& model, const ModelSource& source,
                   const io::OpenedData& data) {
  if (data.classes.empty() || model.outputs().size() != 1) return;
  const int64_t outputs = model.outputs()[0].shape()[-1];
  const int64_t classes = std::ssize(data.classes);
  if (outputs != classes && !(outputs == 1 && classes == 2)) {
    throw ValueError(fmt::format(
        "--data: expected {} classes, as '{}' has outputs, got {} ('{}'). "
        "Hint: a folder for each class that the model knows, in the same "
        "order of names",
        outputs, source.what, classes, fmt::join(data.classes, "', '")));
  }
  const std::vector<std::string> own =
      source.what.starts_with("zoo:")
          ? std::vector<std::string>()
          : io::class_names(source.what, source.limits());
  if (own.empty() || own == data.classes) return;
  const auto [a, b] = std::ranges::mismatch(own, data.classes);
  throw ValueError(fmt::format(
      "--data: expected the classes of '{}', of which number {} is '{}', got "
      "'{}'",
      source.what, a - own.begin(), a == own.end() ? "none" : *a,
      b == data.classes.end() ? "none" : *b));
}

std::string preprocess_to_keep(const io::OpenedData& opened,
                               const DataOptions& options,
                               const DataTarget& target) {
  return has_floats(opened, options)  ? target.trained
         : options.preprocess.empty() ? target.usual
                                      : options.preprocess;
}

std::string describe(std::string_view part, const Dataset& data,
                     const io::OpenedData& opened, const DataOptions& options,
                     const DataTarget& target) {
  const std::vector<TensorSpec> specs = data.input_specs();
  return fmt::format(
      "{} {}{} of {}{}\n", data.size(), part,
      specs.size() == 1 ? " " + specs[0].shape.to_string() : "", opened.kind,
      has_floats(opened, options)
          ? ""
          : fmt::format(", bytes as '{}'",
                        preprocess_to_keep(opened, options, target)));
}

}  // namespace octet::program
