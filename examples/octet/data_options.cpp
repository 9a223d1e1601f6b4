#include "data_options.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/io/data.h>
#include <octet/io/model_file.h>
#include <octet/io/onnx.h>
#include <octet/layers/detail/model_data.h>
#include <octet/layers/embedding.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

#include "class_order.h"
#include "image_options.h"
#include "io_names.h"
#include "name_value_args.h"
#include "table_columns.h"

namespace octet::program {
namespace {

/// Returns whether the first layer scales the input by 1/32 or less, so that
/// the model expects bytes. Layers that map [0,1] to other ranges do not count.
bool scales_bytes(const Model& model) {
  if (model.inputs().size() != 1) return false;
  const GraphNode* input = model.inputs()[0].node.get();
  for (const auto& node : model.nodes()) {
    if (node->inputs.empty() || node->inputs[0].node.get() != input) continue;
    if (node->layer->class_name() != "Rescaling") return false;
    constexpr double kMaxScale = 1.0 / 32;
    double largest = 0;
    const Config config = node->layer->config();
    const Config& scale = config.at("scale");
    if (!scale.is_list()) return std::abs(scale.as_number()) <= kMaxScale;
    for (const Config& entry : scale.as_list()) {
      largest = std::max(largest, std::abs(entry.as_number()));
    }
    return largest <= kMaxScale;
  }
  return false;
}

bool is_zoo(const ModelSource& source) {
  return source.what.starts_with("zoo:");
}

/// Returns the preprocessing mode that the model file stores, or "".
std::string trained_mode(const ModelSource& source) {
  return is_zoo(source) ? std::string()
                        : io::trained_preprocess(source.what, source.limits());
}

std::vector<std::string> port_names(const std::vector<io::OnnxPort>& ports) {
  std::vector<std::string> names;
  for (const io::OnnxPort& port : ports) names.push_back(port.name);
  return names;
}

/// Returns whether the model comes from an ONNX file with a single uint8 input.
bool has_uint8_input(const ModelSource& source) {
  const auto ports = interface_of(source).inputs;
  return ports.size() == 1 && ports[0].type == "uint8";
}

/// Returns for each input of an ONNX file whether its type is neither floats
/// nor uint8.
std::vector<bool> has_other_types(const ModelSource& source) {
  std::vector<bool> result;
  for (const io::OnnxPort& port : interface_of(source).inputs) {
    result.push_back(port.type != "uint8" &&
                     port.type.find("float") == std::string::npos);
  }
  return result;
}

/// Returns whether the data are floats, which are used unchanged.
bool has_floats(const io::OpenedData& opened, const DataOptions& options) {
  return options.preprocess.empty() &&
         opened.kind.find(".npy") != std::string::npos;
}

/// Returns whether the data are image files, which are resized.
bool has_images(const io::OpenedData& opened) {
  return opened.kind.find("image") != std::string::npos;
}

io::OpenDataOptions open_options(const DataOptions& o, const DataTarget& target,
                                 size_t input = 0) {
  return {.image = target.image,
          .preprocess =
              o.preprocess.empty() ? std::nullopt : std::optional(o.preprocess),
          .usual = target.usual,
          .takes_bytes = target.takes_bytes,
          .takes_numbers = input < target.takes_numbers.size() &&
                           target.takes_numbers[input],
          // With several inputs, skipping would misalign samples.
          .corrupt = o.skip_corrupt && target.inputs.size() == 1
                         ? io::CorruptFiles::skip
                         : io::CorruptFiles::refuse,
          .resize = resize_for(o, target),
          .class_names = class_names_for(o, target),
          .labels_optional = o.labels_optional,
          .columns = columns_of(o.columns)};
}

/// Drops the labels of folders whose number differs from the number of model
/// outputs. Warns.
void drop_mismatched_labels(const DataTarget& target, io::OpenedData& opened) {
  const int64_t classes = std::ssize(opened.classes);
  const bool binary = target.class_count == 1 && classes == 2;
  if (classes == 0 || classes == target.class_count || binary ||
      target.class_count < 0) {
    return;
  }
  warn("labels_ignored", "--data",
       fmt::format(
           "ignoring labels: {} classes do not match {}. Hint: use "
           "--class-names if the folders are a subset of the model's classes",
           classes,
           target.class_count > 0
               ? fmt::format("the {} outputs of the model", target.class_count)
               : "a model that is not a classifier"));
  const std::vector<size_t> inputs = {0};
  opened.train = opened.train.select(inputs, {});
  if (opened.test) opened.test = opened.test->select(inputs, {});
  opened.classes.clear();
  opened.folders.clear();
}

/// Reads the files of --labels for a model with several outputs.
std::vector<NamedTensor> named_labels(const DataOptions& o,
                                      const DataTarget& target, int64_t count) {
  const std::vector<std::string> files =
      paths_for("--labels", o.labels, target.outputs, target.file_outputs);
  std::vector<NamedTensor> labels;
  for (size_t i = 0; i < files.size(); ++i) {
    if (files[i].empty()) continue;
    labels.emplace_back(target.outputs[i], io::read_labels(files[i], count));
  }
  return labels;
}

/// Opens a file per input, for a model with several inputs or outputs.
io::OpenedData open_named(const DataOptions& o, const DataTarget& target) {
  const std::vector<std::string> files =
      paths_for("--data", o.paths, target.inputs, target.file_inputs);
  const std::vector<std::string>& names =
      target.file_inputs.empty() ? target.inputs : target.file_inputs;
  std::vector<NamedTensor> inputs;
  for (size_t i = 0; i < files.size(); ++i) {
    if (files[i].empty()) {
      throw ValueError(
          "missing_value", "--data",
          fmt::format("needs a file for each of '{}', got none for '{}'",
                      fmt::join(names, "', '"), names[i]));
    }
    const io::OpenedData opened =
        io::open_data(files[i], open_options(o, target, i));
    const Dataset& data = opened.train;
    if (!o.labels.empty() && !data.label_specs().empty()) {
      throw ValueError("conflicting_options", "--labels",
                       fmt::format("{} already has labels, got '{}'",
                                   opened.kind, fmt::join(o.labels, "', '")));
    }
    inputs.emplace_back(target.inputs[i], data.batch(0, data.size()).input());
  }
  const int64_t count = inputs[0].tensor.shape()[0];
  std::vector<NamedTensor> labels = named_labels(o, target, count);
  return {.kind = files.size() == 1 ? "a .npy file" : ".npy files",
          .train = labels.empty()
                       ? Dataset::unlabeled(std::move(inputs))
                       : Dataset(std::move(inputs), std::move(labels))};
}

/// Returns text such as "resize bilinear as Keras, bytes as 'unit'".
std::string preprocessing_text(const io::OpenedData& opened,
                               const DataOptions& options,
                               const DataTarget& target) {
  if (has_floats(opened, options)) return "none, float32 as stored";
  const std::string bytes =
      bytes_text(preprocess_to_keep(opened, options, target), options, target);
  return has_images(opened)
             ? fmt::format("{}, {}", resize_text(options, target), bytes)
             : bytes;
}

}  // namespace

void add_data_options(Command& command, DataOptions& o, LabelKinds labels,
                      NeedsData needs) {
  command.begin_group("Input");
  Option data = command.add(
      "--data", o.paths,
      "samples: .npy file, image folder, table of images (.csv), IDX files "
      "or CIFAR; NAME=x.npy per input");
  data.type("PATH");
  if (needs == NeedsData::yes) data.required();
  command
      .add("--labels", o.labels,
           labels == LabelKinds::classes
               ? "class labels int64 [N], or [N,H,W] per pixel; NAME=Y.npy per "
                 "output"
               : "class labels int64 [N], or [N,H,W] per pixel; targets "
                 "float32 [N,...]; NAME=Y.npy per output")
      .type("Y.npy");
  add_columns_option(command, o.columns);
  add_layout_option(command, o.layout);
  add_image_options(command, o);
  o.labels_optional = o.labels_optional || labels == LabelKinds::classes;
}

std::string mode_of(const Model& model, const ModelSource& source) {
  if (has_uint8_input(source)) return "none";
  const std::string trained = trained_mode(source);
  return trained.empty() && scales_bytes(model) ? "none" : trained;
}

DataTarget file_target(const ModelSource& source, const std::string& takes) {
  DataTarget target;
  target.trained = trained_mode(source);
  target.takes = takes;
  target.usual = target.takes.empty() ? "unit" : target.takes;
  target.trained_resize = trained_resize(source);
  if (!target.trained_resize.empty()) {
    target.usual_resize = target.trained_resize;
  }
  target.resize_is_stored =
      !is_zoo(source) &&
      !io::trained_resize(source.what, source.limits()).empty();
  target.classes = class_names_of(source);
  return target;
}

DataTarget target_of(const Model& model, const ModelSource& source) {
  DataTarget target = file_target(source, mode_of(model, source));
  target.inputs = input_names(model);
  target.outputs = quant::output_names(model);
  const io::OnnxInterface given = interface_of(source);
  if (given.fits(model)) {
    target.file_inputs = port_names(given.inputs);
    target.file_outputs = port_names(given.outputs);
  }
  target.takes_bytes = has_uint8_input(source);
  target.takes_numbers = has_other_types(source);
  const std::vector<int64_t> limits = index_limits(model);
  target.takes_numbers.resize(limits.size());
  for (size_t i = 0; i < limits.size(); ++i) {
    if (limits[i] > 0) target.takes_numbers[i] = true;
  }
  // Octet files have NHWC samples like Keras, even if imported from ONNX.
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
  if (is_zoo(source)) {
    target.class_count = -1;
  } else if (model.outputs().size() == 1 &&
             model.outputs()[0].shape().rank() == 2) {
    target.class_count = model.outputs()[0].shape()[-1];
  }
  return target;
}

std::string trained_resize(const ModelSource& source) {
  if (is_zoo(source)) return "";
  std::string stored = io::trained_resize(source.what, source.limits());
  if (!stored.empty()) return stored;
  if (is_onnx(source.what)) {
    // tf2onnx converts Keras and TensorFlow models.
    const std::string producer = io::inspect_onnx(source.what).producer;
    return producer.find("tf2onnx") != std::string::npos ? "bilinear" : "";
  }
  return io::is_octet_file(source.what) ? "" : "bilinear";
}

std::vector<std::string> class_names_of(const ModelSource& source) {
  return is_zoo(source) ? std::vector<std::string>()
                        : io::class_names(source.what, source.limits());
}

namespace {

/// Returns whether the data are .npy files, whose axis order may differ from
/// the model's. Images are decoded as NHWC.
bool has_arrays(const io::OpenedData& opened) {
  return opened.kind.find(".npy") != std::string::npos;
}

io::OpenedData open_any(const DataOptions& o, const DataTarget& target) {
  if (!o.preprocess.empty() && !target.trained.empty() &&
      o.preprocess != target.trained) {
    warn("preprocessing_differs", "--preprocess",
         fmt::format("the model file specifies '{}', got '{}'. Hint: omit the "
                     "option to preprocess as in training",
                     target.trained, o.preprocess));
  }
  warn_of_other_resize(o, target);
  if (target.inputs.size() != 1 ||
      (target.outputs.size() != 1 && !o.labels.empty())) {
    return open_named(o, target);
  }
  io::OpenDataOptions options = open_options(o, target);
  if (!o.labels.empty()) {
    options.labels =
        paths_for("--labels", o.labels, target.outputs, target.file_outputs)[0];
  }
  io::OpenedData opened = io::open_data(
      paths_for("--data", o.paths, target.inputs, target.file_inputs)[0],
      options);
  if (o.labels_optional && o.class_names.empty()) {
    drop_mismatched_labels(target, opened);
  }
  if (opened.classes.empty() && target.outputs.size() == 1) {
    opened.classes = class_names_for(o, target);
  }
  return opened;
}

/// Checks the first samples for a uint8 input.
/// Throws: FormatError for values that uint8 cannot represent.
void check_bytes(const Dataset& data, const DataOptions& o) {
  constexpr int64_t kChecked = 64;
  const Tensor x = data.batch(0, std::min(kChecked, data.size())).input();
  const auto values = x.f32();
  const auto found = std::ranges::find_if(values, [](float v) {
    return !(v >= 0 && v <= 255 && v == std::floor(v));
  });
  if (found == values.end()) return;
  throw FormatError(
      "out_of_range", o.paths[0],
      fmt::format("the model's uint8 input needs integers from 0 to 255, got "
                  "{}. Hint: pass unscaled bytes{}",
                  *found,
                  o.preprocess.empty() ? ", x.astype(\"uint8\")"
                                       : " without --preprocess"));
}

/// Warns if the value range of image arrays cannot be that of training.
void warn_of_value_range(const Dataset& data, const DataTarget& target) {
  constexpr int64_t kChecked = 64;
  // Normalized images reach about 3, bytes 255.
  constexpr float kMostNormalized = 16;
  if (target.image.rank() != 3 || target.takes.empty()) return;
  const Tensor x = data.batch(0, std::min(kChecked, data.size())).input();
  float largest = 0;
  for (const float v : x.f32()) largest = std::max(largest, std::abs(v));
  const bool normalizes = target.takes != "none" && target.takes != "caffe";
  if (normalizes && largest > kMostNormalized) {
    warn("sample_range", "--data",
         fmt::format(
             "samples reach {:g}, but the model expects bytes preprocessed as "
             "'{}'. Hint: scale the samples as in training",
             largest, target.takes));
  } else if (target.takes == "none" && largest <= 1) {
    warn("sample_range", "--data",
         fmt::format("samples reach {:g}, but the model expects values from 0 "
                     "to 255. Hint: do not divide the samples by 255",
                     largest));
  }
}

}  // namespace

io::OpenedData open_data(const DataOptions& o, const DataTarget& target) {
  const io::OnnxLayout layout = layout_of(o.layout);
  io::OpenedData opened = open_any(o, target);
  check_columns(o.columns, opened);
  if (target.takes_bytes) check_bytes(opened.train, o);
  if (has_floats(opened, o)) warn_of_value_range(opened.train, target);
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
  if (outputs == classes || (outputs == 1 && classes == 2)) return;
  throw ValueError(
      "count_mismatch", "--data",
      fmt::format(
          "has {} classes ({}), but the model '{}' has {} outputs. Hint: "
          "provide a folder per output, or list the names of all outputs "
          "with --class-names if the folders are a subset; octet train --head "
          "{} trains a new classifier",
          classes, few_classes(data.classes), source.what, outputs, classes));
}

std::string preprocess_to_keep(const io::OpenedData& opened,
                               const DataOptions& options,
                               const DataTarget& target) {
  return has_floats(opened, options)  ? target.trained
         : options.preprocess.empty() ? target.usual
                                      : options.preprocess;
}

std::string resize_to_keep(const io::OpenedData& opened,
                           const DataOptions& options,
                           const DataTarget& target) {
  const bool asked = !options.resize.empty() || !options.crop.empty() ||
                     options.pad.has_value();
  return asked || has_images(opened)
             ? io::to_string(resize_for(options, target))
             : target.trained_resize;
}

void add_inputs(Config& config, const io::OpenedData& opened,
                const DataOptions& options, const DataTarget& target) {
  config.set("preprocessing", preprocessing_text(opened, options, target));
  if (opened.folders.empty()) return;
  Config folders(Config::Object{});
  for (const std::string& folder : opened.folders) {
    const auto found = std::ranges::find(opened.classes, folder);
    folders.set(folder, int64_t{found - opened.classes.begin()});
  }
  config.set("folders", std::move(folders));
}

std::string describe_inputs(const io::OpenedData& opened,
                            const DataOptions& options,
                            const DataTarget& target) {
  const std::string text = fmt::format(
      "preprocessing: {}\n", preprocessing_text(opened, options, target));
  const std::string classes = classes_text(opened, options, target);
  return classes.empty() ? text : text + classes + "\n";
}

std::string describe(std::string_view part, const Dataset& data,
                     const io::OpenedData& opened, const DataOptions& options,
                     const DataTarget& target) {
  const std::vector<TensorSpec> specs = data.input_specs();
  return fmt::format("{} {}{} of {}\n{}", data.size(), part,
                     specs.size() == 1 ? " " + specs[0].shape.to_string() : "",
                     opened.kind, describe_inputs(opened, options, target));
}

}  // namespace octet::program
