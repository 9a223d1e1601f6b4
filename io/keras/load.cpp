#include <algorithm>
#include <charconv>
#include <new>
#include <utility>

#include <fmt/format.h>

#include <octet/io/json.h>
#include <octet/io/keras.h>
#include <octet/layers/detail/load_limits.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "file_errors.h"
#include "file_kind.h"
#include "hdf5/reader.h"
#include "keras/archive.h"
#include "keras/builder.h"
#include "keras/quantized.h"
#include "keras/stored.h"
#include "keras/training_only.h"
#include "limit_checks.h"
#include "zip.h"

namespace octet::io {
namespace {

// Far above the size for the largest network; parsing may need forty bytes per
// byte.
constexpr int64_t kMostJson = int64_t{16} << 20;
// Deflate compresses at most 1032 bytes into one, and weights have two bytes or
// more: maximum of float32 bytes per byte of the file.
constexpr double kMostBytesPerByte = 1032.0 / 2 * 4;

constexpr const char* kWeightsGroup = "model_weights";
constexpr std::string_view kKerasFile =
    "a Keras model or weights (.h5, .keras)";

/// The parts of a file.
struct KerasSource {
  Hdf5Reader weights;
  double weight_bytes = 0;  ///< of the HDF5 file
  bool is_weights_h5 = false;
  std::string group = {};    ///< of the weights by layer name
  std::string version = {};  ///< of Keras
  std::string backend = {};
  std::string architecture = {};  ///< JSON, empty if missing
};

std::string text_attribute(const Hdf5Reader& file, const std::string& object,
                           const char* name) {
  const auto value = file.attribute(object, name);
  return value && value->is_string() ? value->as_string() : "";
}

void expect_json_size(const std::string& json) {
  if (static_cast<int64_t>(json.size()) > kMostJson) {
    throw FormatError("size_limit", "architecture",
                      fmt::format("JSON must have at most {} bytes, got {}",
                                  kMostJson, json.size()));
  }
}

KerasSource open_hdf5(std::string contents, const std::string& name,
                      const FileLimits& limits) {
  const auto bytes = static_cast<double>(contents.size());
  KerasSource source{.weights = Hdf5Reader(std::move(contents), name, limits),
                     .weight_bytes = bytes};
  const Hdf5Reader& file = source.weights;
  if (file.kind(kWeightsGroup) == Hdf5Kind::group) {
    source.group = kWeightsGroup;
  } else if (is_weights_h5(file)) {
    source.is_weights_h5 = true;
  }
  if (const auto config = file.attribute("", "model_config")) {
    if (!config->is_string()) {
      throw FormatError("invalid_value", "model_config",
                        "must be a string of JSON");
    }
    source.architecture = config->as_string();
    expect_json_size(source.architecture);
  }
  // Attributes beside the weights have priority; Keras 1 has none there.
  for (const std::string& object : {source.group, std::string()}) {
    if (source.version.empty()) {
      source.version = text_attribute(file, object, "keras_version");
    }
    if (source.backend.empty()) {
      source.backend = text_attribute(file, object, "backend");
    }
  }
  return source;
}

KerasSource open_archive(std::string_view contents, const FileLimits& limits) {
  KerasArchive archive = read_archive(contents);
  expect_json_size(archive.config);
  KerasSource source =
      open_hdf5(std::move(archive.weights), kArchiveWeights, limits);
  if (!source.is_weights_h5) {
    // Other kinds of models get an error that names their class.
    in_file([] { return "in config.json"; },
            [&] { expect_graph(unwrapped(from_json(archive.config))); });
    throw FormatError("malformed_file", kArchiveWeights, "no group 'layers'");
  }
  source.architecture = std::move(archive.config);
  if (!archive.metadata.empty()) {
    in_file([] { return "in metadata.json"; },
            [&] {
              const Config metadata = from_json(archive.metadata);
              if (const Config* version = metadata.find("keras_version")) {
                source.version = version->as_string();
              }
            });
  }
  return source;
}

std::string read_architecture(const std::filesystem::path& path) {
  constexpr std::string_view kExpected = "the JSON of an architecture";
  std::string json = read_file_as(kExpected, path, kMostJson);
  in_file(
      [&] { return fmt::format("in file '{}'", path.string()); },
      [&] {
        refuse_other_kind(kExpected, json, {FileKind::json, FileKind::text});
      });
  return json;
}

KerasSource open_source(const std::filesystem::path& path,
                        const KerasOptions& options) {
  std::string contents = read_file_as(kKerasFile, path);
  if (!is_hdf5(contents)) {
    refuse_other_kind(kKerasFile, contents,
                      {FileKind::keras_archive, FileKind::zip});
  }
  KerasSource source =
      is_zip(contents)
          ? open_archive(contents, options.limits)
          : open_hdf5(std::move(contents), path.string(), options.limits);
  if (!options.architecture.empty()) {
    source.architecture = read_architecture(options.architecture);
  }
  if (source.backend.empty()) source.backend = options.backend;
  return source;
}

/// Whether the JSON has a format that only Keras 3 writes.
bool looks_like_keras_3(const Config& architecture) {
  if (architecture.find("module") != nullptr) return true;
  const Config& config = architecture.at("config");
  const Config* layers = config.is_object() ? config.find("layers") : nullptr;
  return layers != nullptr && layers->is_list() && !layers->as_list().empty() &&
         layers->as_list()[0].is_object() &&
         layers->as_list()[0].find("module") != nullptr;
}

int major_version(const std::string& version, const Config& architecture,
                  bool is_weights_h5) {
  std::string text = version;
  if (text.empty()) {
    const Config* written = architecture.find("keras_version");
    if (written != nullptr && written->is_string()) text = written->as_string();
  }
  int major = 0;
  std::from_chars(text.data(), text.data() + text.size(), major);
  if (major > 0) return major;
  // Keras 1 does not record its version.
  return is_weights_h5 || looks_like_keras_3(architecture) ? 3 : 1;
}

DataFormats data_formats(const KerasGraph& graph) {
  DataFormats all;
  for_each_layer(graph, [&](const KerasLayer& layer) {
    if (layer.graph != nullptr || layer.operation) return;
    const Config& format = option(layer.config, "data_format");
    all.first |= format == Config("channels_first");
    all.last |= format == Config("channels_last");
  });
  return all;
}

bool any_layer(const KerasGraph& graph, bool (*is)(const KerasLayer&)) {
  bool any = false;
  for_each_layer(graph, [&](const KerasLayer& layer) { any |= is(layer); });
  return any;
}

/// Whether a layer was in a quantize wrapper of the toolkit.
bool is_wrapped(const KerasLayer& layer) { return layer.is_wrapped; }

/// Whether a layer has a kernel whose orientation depends on the backend of
/// Keras 1.
bool has_old_kernel(const KerasLayer& layer) {
  return layer.class_name == "Conv2D" && has_channels_first(layer);
}

/// Weights and scales of a file for a model.
struct Stored {
  std::vector<Assignment> weights;
  std::vector<StoredScales> scales;  ///< of the toolkit's quantizers
};

Stored match(const KerasSource& source, const Model& model,
             std::vector<TargetLayer>& targets, const KerasOptions& options) {
  if (source.is_weights_h5) {
    return {match_weights_h5(source.weights, targets, options), {}};
  }
  const std::vector<StoredLayer> layers =
      stored_layers(source.weights, source.group);
  const bool ranges = std::ranges::any_of(
      layers, [](const StoredLayer& layer) { return !layer.ranges.empty(); });
  if (ranges && options.match == KerasMatch::by_order) {
    throw UnsupportedError("conflicting_options", "KerasOptions.match",
                           "must be by_name for a file with quantizer ranges, "
                           "which have no order");
  }
  return {match_legacy(layers, targets, options),
          read_scales(source.weights, layers, model, options.partial)};
}

/// Returns the model, with quantizers if the file has scales.
Model quantized(Model model, const std::vector<StoredScales>& scales) {
  if (scales.empty()) return model;
  model = quant::apply(plan_of(scales, model), model);
  set_scales(scales_for(model, scales, false));
  return model;
}

/// Adds the file name to errors.
template <class Body>
decltype(auto) reading(const std::filesystem::path& path, Body body) {
  try {
    return in_file([&] { return fmt::format("in file '{}'", path.string()); },
                   body);
  } catch (const std::bad_alloc&) {
    throw FormatError("memory_limit", path.string(),
                      "model does not fit into memory");
  }
}

Model load(const std::filesystem::path& path, const KerasOptions& options) {
  KerasSource source = open_source(path, options);
  if (source.architecture.empty()) {
    refuse_other_kind(kKerasFile, read_file(path), {FileKind::keras_h5});
    throw FormatError("missing_value", "model_config",
                      "the file has weights but no architecture. Hint: set "
                      "KerasOptions.architecture (--architecture) to its JSON, "
                      "or use load_keras_weights");
  }
  const auto in_architecture = [&] {
    return options.architecture.empty()
               ? std::string("in the architecture")
               : fmt::format("in the architecture, '{}'",
                             options.architecture.string());
  };
  const Config architecture = in_file(in_architecture, [&] {
    return unwrapped(from_json(source.architecture));
  });
  KerasDialect dialect;
  dialect.backend = source.backend;
  dialect.knows = [&](const KerasLayer& layer) {
    return is_known(layer, options);
  };
  dialect.major = in_file(in_architecture, [&] {
    return major_version(source.version, architecture, source.is_weights_h5);
  });
  const KerasGraph graph = parse_graph(architecture, dialect);
  if (source.is_weights_h5 && any_layer(graph, is_wrapped)) {
    throw UnsupportedError(
        "unsupported_format", "layers",
        "weights of quantize wrappers must be stored by name, as in an .h5 "
        "file; .weights.h5 and .keras number them");
  }
  BuildState state{{dialect, options}};
  state.formats = data_formats(graph);
  const double most = std::min(static_cast<double>(options.limits.memory_limit),
                               kMostBytesPerByte * source.weight_bytes);
  BuiltModel built = [&] {
    const ParameterLimit limit(static_cast<int64_t>(most / sizeof(float)));
    return build_model(graph, state);
  }();
  check_activations(built.model, options.limits);
  if (dialect.major == 1 && dialect.backend.empty() &&
      any_layer(graph, has_old_kernel)) {
    warn("unknown_backend", path.string(),
         "a Keras 1 model with channels first does not record its backend. "
         "Hint: if it is Theano, which flips kernels, set KerasOptions.backend "
         "= \"theano\"");
  }
  warn_of_training_only(graph, path.string());
  KerasOptions whole = options;
  whole.partial = false;
  const Stored stored = match(source, built.model, built.targets, whole);
  assign_all(source.weights, stored.weights);
  return quantized(std::move(built.model), stored.scales);
}

}  // namespace

bool is_keras_file(const std::filesystem::path& path) {
  constexpr int64_t kMostOffset = int64_t{1} << 31;
  for (int64_t at = 0; at < kMostOffset; at = at == 0 ? 512 : 2 * at) {
    const std::string start = read_part(path, at, 8);
    if (start.size() < 8) return false;
    if (is_hdf5(start) || (at == 0 && is_zip(start))) return true;
  }
  return false;
}

Model load_keras(const std::filesystem::path& path,
                 const KerasOptions& options) {
  return reading(path, [&] { return load(path, options); });
}

void load_keras_weights(Model& model, const std::filesystem::path& path,
                        const KerasOptions& options) {
  reading(path, [&] {
    KerasSource source = open_source(path, options);
    std::vector<TargetLayer> targets = targets_of(model);
    const Stored stored = match(source, model, targets, options);
    // A model without quantizers ignores them.
    const bool use = !stored.scales.empty() && quant::is_quantized(model);
    QuantizerScales scales;
    if (use) scales = scales_for(model, stored.scales, options.partial);
    assign_all(source.weights, stored.weights);
    set_scales(scales);
  });
}

}  // namespace octet::io
