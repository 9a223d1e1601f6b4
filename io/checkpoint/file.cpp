#include "file.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/io/image.h>
#include <octet/runtime/error.h>
#include <octet/runtime/system.h>
#include <octet/session/detail/session_file.h>

#include "checksum.h"
#include "file_errors.h"
#include "file_kind.h"
#include "hdf5/reader.h"
#include "hdf5/writer.h"
#include "onnx/export/interface.h"
#include "values.h"

namespace octet::io {
namespace {

constexpr int64_t kFormat = 1;
constexpr const char* kWeights = "model_weights";
constexpr const char* kOctet = "octet";
constexpr const char* kClasses = "classes";
constexpr const char* kPreprocess = "preprocess";
constexpr const char* kInterface = "onnx_interface";
constexpr const char* kTrained = "trained";
constexpr const char* kResize = "resize";
constexpr const char* kTraining = "octet/training";
constexpr const char* kTensors = "octet/training/tensors";

// Keras 1 has another axis order of kernels, and reads files without a version
// as its own.
constexpr const char* kKerasVersion = "2.15.0";
constexpr const char* kBackend = "tensorflow";

// ---- writing

/// Path of a weight in its layer's group, as in Keras.
std::string weight_name(const quant::NamedWeight& weight) {
  return fmt::format("{}/{}:0", weight.layer, weight.name);
}

void write_layer(Hdf5Writer& writer, const std::string& layer,
                 const std::vector<const quant::NamedWeight*>& weights) {
  const std::string group = fmt::format("{}/{}", kWeights, layer);
  writer.group(group);
  Config::List names;
  // Keras' order, for readers that match weights by position.
  for (const bool trainable : {true, false}) {
    for (const quant::NamedWeight* weight : weights) {
      if (weight->trainable != trainable) continue;
      names.emplace_back(weight_name(*weight));
      writer.dataset(fmt::format("{}/{}", group, weight_name(*weight)),
                     weight->value);
    }
  }
  writer.attribute(group, "weight_names", std::move(names));
}

void write_weights(Hdf5Writer& writer, const quant::ModelState& model) {
  writer.group(kWeights);
  Config::List layers;
  auto next = model.weights.begin();
  for (const Config& layer : model.graph.at("layers").as_list()) {
    const std::string& name = layer.at("name").as_string();
    std::vector<const quant::NamedWeight*> weights;
    for (; next != model.weights.end() && next->layer == name; ++next) {
      weights.push_back(&*next);
    }
    write_layer(writer, name, weights);
    layers.emplace_back(name);
  }
  if (next != model.weights.end()) {
    throw ValueError(
        "invalid_state", "model state",
        fmt::format(
            "weights must be in the order of the layers; '{}' is out of order",
            next->layer));
  }
  writer.attribute(kWeights, "layer_names", std::move(layers));
  writer.attribute(kWeights, "backend", kBackend);
  writer.attribute(kWeights, "keras_version", kKerasVersion);
}

void write_model(Hdf5Writer& writer, const quant::ModelState& model) {
  write_weights(writer, model);
  writer.group(kOctet);
  writer.attribute(kOctet, "format", kFormat);
  writer.attribute(kOctet, "version", version());
  writer.attribute(kOctet, "graph", to_text(model.graph));
  if (!model.plan.is_null()) {
    writer.attribute(kOctet, "plan", to_text(model.plan));
  }
  writer.attribute(kOctet, "status", to_text(model.status));
}

void write_tensors(Hdf5Writer& writer, const train::NamedTensors& tensors) {
  Config::List index;
  for (const auto& [name, tensor] : tensors) {
    if (tensor.empty() ||
        (tensor.dtype() != DType::f32 && tensor.dtype() != DType::i64)) {
      throw ValueError("dtype_mismatch",
                       fmt::format("checkpoint tensor '{}'", name),
                       fmt::format("must be f32 or i64, got {}",
                                   tensor.empty() ? "an empty tensor"
                                                  : to_string(tensor.dtype())));
    }
    writer.dataset(fmt::format("{}/{}", kTensors, name), tensor);
    const auto dims = tensor.shape().dims();
    index.push_back(Config()
                        .set("name", name)
                        .set("type", to_string(tensor.dtype()))
                        .set("shape", Config::List(dims.begin(), dims.end())));
  }
  writer.attribute(kTraining, "tensors", to_text(std::move(index)));
}

template <class Write>
std::string file_with(const Write& write) {
  return with_context([] { return std::string("in a checkpoint"); },
                      [&] {
                        Hdf5Writer writer;
                        write(writer);
                        return with_checksum(writer.finish());
                      });
}

// ---- reading

/// A file with a verified checksum, and the number of bytes that may still be
/// read: nothing in it is compressed.
class File {
 public:
  File(std::string image, const std::string& name, const FileLimits& limits)
      : left_(static_cast<int64_t>(image.size())),
        reader_(std::move(image), name, limits) {
    if (reader_.kind(kOctet) != Hdf5Kind::group) {
      throw FormatError("unsupported_format", "file",
                        "no group 'octet': not an Octet file. Hint: load Keras "
                        "files with load_keras");
    }
    const int64_t format = value(kOctet, "format").as_int();
    if (format < 1) {
      throw FormatError("malformed_file", "format version",
                        fmt::format("must be at least 1, got {}", format));
    }
    if (format > kFormat) {
      throw UnsupportedError(
          "unsupported_version", "format version",
          fmt::format("must be at most {}, got {}. Hint: read the file with "
                      "Octet {}, which wrote it",
                      kFormat, format, value(kOctet, "version").as_string()));
    }
  }

  Config text(const char* object, const char* attribute) const {
    return with_context(
        [&] { return fmt::format("in '{}' of '{}'", attribute, object); },
        [&] { return from_text(value(object, attribute).as_string()); });
  }
  bool has(const char* object, const char* attribute) const {
    return reader_.attribute(object, attribute).has_value();
  }
  bool has_group(const char* path) const {
    return reader_.kind(path) == Hdf5Kind::group;
  }
  std::vector<std::string> names(const std::string& object,
                                 const char* attribute) const {
    auto list = reader_.strings(object, attribute);
    if (!list) {
      throw FormatError("malformed_file", fmt::format("'{}'", object),
                        fmt::format("no attribute '{}'", attribute));
    }
    return std::move(*list);
  }
  Tensor weight(const std::string& path) {
    return tensor(path, reader_.shape(path), DType::f32);
  }
  Tensor tensor(const std::string& path, const Shape& shape, DType type) {
    const int64_t size = shape.size();
    if (size > left_ / size_of(type)) {
      throw FormatError(
          "malformed_file", fmt::format("'{}'", path),
          fmt::format("is larger than the rest of the file: {} {}",
                      to_string(type), shape.to_string()));
    }
    left_ -= size * size_of(type);
    return type == DType::i64 ? reader_.i64(path, shape)
                              : reader_.f32(path, shape);
  }

 private:
  Config value(const char* object, const char* attribute) const {
    std::optional<Config> found = reader_.attribute(object, attribute);
    if (!found) {
      throw FormatError("malformed_file", fmt::format("'{}'", object),
                        fmt::format("no attribute '{}'", attribute));
    }
    return std::move(*found);
  }

  int64_t left_;
  Hdf5Reader reader_;
};

quant::NamedWeight read_weight(File& file, const std::string& layer,
                               const std::string& path) {
  const std::string prefix = layer + "/";
  if (!path.starts_with(prefix) || !path.ends_with(":0") ||
      path.size() <= prefix.size() + 2) {
    throw FormatError(
        "malformed_file", "weight_names",
        fmt::format("expected '{}<weight>:0', got '{}'", prefix, path));
  }
  return {.layer = layer,
          .name = path.substr(prefix.size(), path.size() - prefix.size() - 2),
          .value = file.weight(fmt::format("{}/{}/{}", kWeights, layer, path))};
}

quant::ModelState read_model(File& file) {
  quant::ModelState model{
      .graph = file.text(kOctet, "graph"),
      .plan = file.has(kOctet, "plan") ? file.text(kOctet, "plan") : Config(),
      .status = file.text(kOctet, "status"),
      .weights = {}};
  for (const std::string& layer : file.names(kWeights, "layer_names")) {
    const std::string group = fmt::format("{}/{}", kWeights, layer);
    for (const std::string& path : file.names(group, "weight_names")) {
      model.weights.push_back(read_weight(file, layer, path));
    }
  }
  return model;
}

Shape shape_from(const Config& config) {
  std::vector<int64_t> dims;
  for (const Config& dim : config.as_list()) dims.push_back(dim.as_int());
  return Shape(dims);
}

train::NamedTensors read_tensors(File& file) {
  train::NamedTensors tensors;
  const Config index = file.text(kTraining, "tensors");
  for (const Config& entry : index.as_list()) {
    const std::string& name = entry.at("name").as_string();
    const std::string& type = entry.at("type").as_string();
    if (type != "f32" && type != "i64") {
      throw FormatError("unsupported_type", "tensors",
                        fmt::format("type must be f32 or i64, got '{}'", type));
    }
    tensors.emplace(name, file.tensor(fmt::format("{}/{}", kTensors, name),
                                      shape_from(entry.at("shape")),
                                      type == "i64" ? DType::i64 : DType::f32));
  }
  return tensors;
}

// Entries as in to_config(); others are ignored.
SaveModelOptions options_from(const Config& entries) {
  SaveModelOptions options;
  if (!entries.is_object()) return options;
  if (const Config* list = entries.find(kClasses)) {
    for (const Config& entry : list->as_list()) {
      options.classes.push_back(entry.as_string());
    }
  }
  if (const Config* preprocess = entries.find(kPreprocess)) {
    options.preprocess = preprocess->as_string();
    (void)preprocess_mode(options.preprocess);
  }
  if (const Config* resize = entries.find(kResize)) {
    options.resize = resize->as_string();
    (void)resize_mode(options.resize);
  }
  if (const Config* interface = entries.find(kInterface)) {
    options.interface = interface_from(*interface);
  }
  if (const Config* trained = entries.find(kTrained)) {
    options.training = {.optimizer = trained->at("optimizer").as_string(),
                        .rate = trained->at("rate").as_number(),
                        .is_peak = trained->at("is_peak").as_bool()};
  }
  return options;
}

[[noreturn]] void refuse_without_training() {
  throw FormatError("unsupported_format", "file",
                    "contains a model but no training state. Hint: load it "
                    "with load_model");
}

std::string frame_of(const std::string& name) {
  return fmt::format("in file '{}'", name);
}

template <class Read>
auto read_file_with(std::string contents, const std::string& name,
                    const FileLimits& limits, const Read& read) {
  return in_file([&] { return frame_of(name); },
                 [&] {
                   if (!has_checksum(contents)) {
                     refuse_other_kind(kOctetFile, contents,
                                       {FileKind::octet_model});
                   }
                   contents.resize(verify_checksum(contents).size());
                   File file(std::move(contents), name, limits);
                   return read(file);
                 });
}

}  // namespace

Config to_config(const SaveModelOptions& options) {
  Config config(Config::Object{});
  const std::vector<std::string>& classes = options.classes;
  if (!classes.empty()) {
    config.set(kClasses, Config::List(classes.begin(), classes.end()));
  }
  if (!options.preprocess.empty()) {
    config.set(kPreprocess, options.preprocess);
  }
  if (!options.interface.empty()) {
    config.set(kInterface, to_config(options.interface));
  }
  if (options.training) {
    config.set(kTrained, Config()
                             .set("optimizer", options.training->optimizer)
                             .set("rate", options.training->rate)
                             .set("is_peak", options.training->is_peak));
  }
  if (!options.resize.empty()) config.set(kResize, options.resize);
  return config;
}

std::string file_of(const quant::ModelState& model,
                    const SaveModelOptions& options) {
  return file_with([&](Hdf5Writer& writer) {
    write_model(writer, model);
    const Config entries = to_config(options);
    for (const auto& [name, value] : entries.as_object()) {
      writer.attribute(kOctet, name, to_text(value));
    }
  });
}

std::string file_of(const train::TrainingState& state) {
  return file_with([&](Hdf5Writer& writer) {
    write_model(writer, state.model);
    writer.group(kTraining);
    writer.attribute(kTraining, "setup", to_text(state.fingerprint));
    writer.attribute(kTraining, "progress", to_text(state.progress));
    write_tensors(writer, state.tensors);
  });
}

quant::ModelState model_in(std::string contents, const std::string& name,
                           const FileLimits& limits) {
  if (session::has_session_magic(contents)) {
    return in_file([&] { return frame_of(name); },
                   [&] { return session::parse_session_file(contents).model; });
  }
  return read_file_with(std::move(contents), name, limits,
                        [](File& file) { return read_model(file); });
}

SaveModelOptions options_in(std::string contents, const std::string& name,
                            const FileLimits& limits) {
  if (session::has_session_magic(contents)) {
    return in_file(
        [&] { return frame_of(name); },
        [&] {
          return options_from(session::parse_session_file(contents).info);
        });
  }
  return read_file_with(std::move(contents), name, limits, [](File& file) {
    Config entries(Config::Object{});
    for (const char* entry :
         {kClasses, kPreprocess, kInterface, kTrained, kResize}) {
      if (file.has(kOctet, entry)) entries.set(entry, file.text(kOctet, entry));
    }
    return options_from(entries);
  });
}

train::TrainingState state_in(std::string contents, const std::string& name,
                              const FileLimits& limits) {
  if (session::has_session_magic(contents)) {
    in_file([&] { return frame_of(name); }, [] { refuse_without_training(); });
  }
  return read_file_with(std::move(contents), name, limits, [](File& file) {
    if (!file.has_group(kTraining)) refuse_without_training();
    return train::TrainingState{.model = read_model(file),
                                .fingerprint = file.text(kTraining, "setup"),
                                .progress = file.text(kTraining, "progress"),
                                .tensors = read_tensors(file)};
  });
}

}  // namespace octet::io
