#include "read_model.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <octet/io/detail/checks.h>
#include <octet/io/keras.h>
#include <octet/io/model_file.h>
#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/io/tflite.h>
#include <octet/layers/zoo.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>
#include <octet/session/detail/session_file.h>

#include "../common/program.h"
#include "name_value_args.h"

namespace octet::program {
namespace {

constexpr std::string_view kZoo = "zoo:";

bool is_named_like_keras(const std::filesystem::path& path) {
  const auto extension = path.extension();
  return extension == ".h5" || extension == ".hdf5" || extension == ".keras";
}

Shape shape_from(const std::string& text) {
  std::vector<int64_t> sizes;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    int64_t size = 0;
    const auto [next, error] = std::from_chars(at, end, size);
    const bool fits = error == std::errc() && size >= 1 &&
                      (next == end || (*next == ',' && next + 1 != end)) &&
                      sizes.size() < Shape::kMaxRank - 1;
    if (!fits) {
      throw ValueError(
          "invalid_value", "--input-shape",
          fmt::format("must be sizes like 224,224,3, got '{}'", text));
    }
    sizes.push_back(size);
    at = next == end ? end : next + 1;
  }
  return Shape(std::span<const int64_t>(sizes));
}

/// Returns the shape for each input of an ONNX file, from NAME=H,W,C.
std::vector<std::string> by_name(const ModelSource& source) {
  if (!is_onnx(source.what)) {
    throw ValueError("invalid_value", "--input-shape",
                     fmt::format("NAME= applies to ONNX files, got '{}'. Hint: "
                                 "give the shapes in the order of the inputs",
                                 source.what));
  }
  std::vector<std::string> names;
  for (const auto& input : io::inspect_onnx(source.what).inputs) {
    names.push_back(input.name);
  }
  return values_for("--input-shape", "shape", source.input_shape, names);
}

}  // namespace

std::vector<Shape> input_shapes(const ModelSource& source) {
  const bool named =
      std::ranges::any_of(source.input_shape, [](const std::string& value) {
        return value.find('=') != std::string::npos;
      });
  std::vector<Shape> shapes;
  for (const std::string& text : named ? by_name(source) : source.input_shape) {
    shapes.push_back(shape_from(text));
  }
  return shapes;
}

SessionOptions session_options(const ModelSource& source) {
  const FileLimits limits = source.limits();
  return {.memory_limit = limits.memory_limit, .time_limit = limits.time_limit};
}

void add_model(Command& command, ModelSource& source, const char* help) {
  source.expected = help;
  command.add("model", source.what, help).required();
  command.begin_group("Model");
  command
      .add("--architecture", source.architecture,
           "architecture of a weights-only Keras file, from model.to_json()")
      .type("FILE.json");
  command
      .add("--input-shape", source.input_shape,
           "sample shape, channels last, for a Keras or ONNX file with dynamic "
           "sizes; NAME=H,W,C per input of an ONNX file")
      .type("H,W,C");
  command.begin_group("Limits");
  command
      .add("--time-limit", source.time_limit, 1e-9, 1e9,
           "seconds allowed to load a file, to create a session, or to run an "
           "ONNX file on a batch")
      .type("S")
      .show_default();
  command
      .add("--memory-limit", source.memory_mib, 1, 1 << 30,
           "MiB of memory allowed for the same, including activations")
      .type("MIB")
      .show_default();
}

bool is_model(const std::string& what) {
  return what.starts_with(kZoo) || io::is_octet_file(what) ||
         io::is_keras_file(what) || is_named_like_keras(what);
}

bool is_tflite_file(const std::string& what) {
  return !is_model(what) &&
         (std::filesystem::path(what).extension() == ".tflite" ||
          io::is_tflite_file(what));
}

bool is_onnx(const std::string& what) {
  return !is_model(what) &&
         (std::filesystem::path(what).extension() == ".onnx" ||
          io::is_onnx_file(what));
}

void warn_of_untrained(const ModelSource& source) {
  if (!source.what.starts_with(kZoo)) return;
  warn("random_weights", source.what,
       "weights are random (untrained network), so results are meaningless");
}

void warn_of_rounded_weights(const ModelSource& source, const Model& model) {
  if (!session::is_session_file(source.what) || !quant::is_quantized(model)) {
    return;
  }
  warn("rounded_weights", source.what,
       "weights of quantized layers are INT8 values in .octet files. Hint: "
       "start from the .h5 file");
}

void check_no_architecture(const ModelSource& source) {
  if (source.architecture.empty()) return;
  throw ValueError("conflicting_options", "--architecture",
                   fmt::format("applies to weights-only Keras files, got '{}'",
                               source.what));
}

void check_no_input_shape(const ModelSource& source) {
  if (source.input_shape.empty()) return;
  throw ValueError("conflicting_options", "--input-shape",
                   fmt::format("applies to Keras and ONNX files with dynamic "
                               "sizes, loaded as a model, got '{}'",
                               source.what));
}

std::optional<io::TrainingConfig> training_of(const ModelSource& source) {
  if (source.what.starts_with(kZoo)) return {};
  return io::training_config(source.what, source.limits());
}

ModelSource beside(const ModelSource& source, const std::string& file) {
  ModelSource other = source;
  other.what = file;
  other.architecture.clear();
  other.quantizers = ModelSource::Quantizers::keep;
  return other;
}

Model read_model(const ModelSource& source) {
  const std::string& what = source.what;
  using Quantizers = ModelSource::Quantizers;
  const bool tflite = is_tflite_file(what);
  const bool replaces =
      is_onnx(what) || (tflite && source.quantizers == Quantizers::drop);
  if (source.quantizers != Quantizers::keep && !replaces) {
    throw UnsupportedError(
        "conflicting_options",
        source.quantizers == Quantizers::drop ? "--drop-quantizers"
                                              : "--symmetric-activations",
        fmt::format("applies to quantized ONNX files, and octet quantize to "
                    ".tflite files, got '{}'",
                    what));
  }
  if (tflite) {
    check_no_architecture(source);
    check_no_input_shape(source);
    return io::load_tflite(
        what, {.drop_quantizers = source.quantizers == Quantizers::drop});
  }
  if (what.starts_with(kZoo) || io::is_octet_file(what)) {
    check_no_architecture(source);
    check_no_input_shape(source);
  }
  if (what.starts_with(kZoo)) {
    return zoo::make(std::string_view(what).substr(kZoo.size()));
  }
  if (io::is_octet_file(what)) return io::load_model(what, source.limits());
  if (is_model(what)) {
    return io::load_keras(what, {.architecture = source.architecture,
                                 .input_shapes = input_shapes(source),
                                 .limits = source.limits()});
  }
  if (is_onnx(what)) {
    check_no_architecture(source);
    io::OnnxImport read = io::import_onnx(
        what,
        {.input_shapes = input_shapes(source),
         .drop_quantizers = source.quantizers == ModelSource::Quantizers::drop,
         .symmetric_activations =
             source.quantizers == ModelSource::Quantizers::make_symmetric,
         .limits = source.limits()});
    (*source.interfaces)[what] = std::move(read.interface);
    return std::move(read.model);
  }
  // describe_file() throws for a missing or unreadable file.
  throw UnsupportedError("unsupported_format", what,
                         fmt::format("expected a model ({}), got {}",
                                     source.expected, io::describe_file(what)));
}

}  // namespace octet::program
