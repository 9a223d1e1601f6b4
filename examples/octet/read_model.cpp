#include "read_model.h"

#include <charconv>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <octet/io/checkpoint.h>
#include <octet/io/describe_file.h>
#include <octet/io/keras.h>
#include <octet/io/onnx_import.h>
#include <octet/io/onnx_model.h>
#include <octet/layers/zoo.h>
#include <octet/runtime/error.h>

#include "../program.h"

namespace octet::program {
namespace {

constexpr std::string_view kZoo = "zoo:";

bool is_named_like_keras(const std::filesystem::path& path) {
  const auto extension = path.extension();
  return extension == ".h5" || extension == ".hdf5" || extension == ".keras";
}

}  // namespace

std::vector<Shape> input_shapes(const ModelSource& source) {
  const std::string& text = source.input_shape;
  if (text.empty()) return {};
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
      throw ValueError(fmt::format(
          "--input-shape: expected sizes like 224,224,3, got '{}'", text));
    }
    sizes.push_back(size);
    at = next == end ? end : next + 1;
  }
  return {Shape(std::span<const int64_t>(sizes))};
}

SessionOptions session_options(const ModelSource& source) {
  const io::FileLimits limits = source.limits();
  return {.memory_limit = limits.memory_limit, .time_limit = limits.time_limit};
}

void add_model(Command& command, ModelSource& source, const char* help) {
  source.expected = help;
  command.add("model", source.what, help).required();
  command.add("--architecture", source.architecture,
              "the JSON of model.to_json(), where a file has weights "
              "alone");
  command
      .add("--input-shape", source.input_shape,
           "one sample, channels last, where a file of Keras or ONNX leaves "
           "sizes open")
      .type("H,W,C");
  command
      .add("--time-limit", source.time_limit, 1e-9, 1e9,
           "seconds that it may take to read a file, to make a session of it, "
           "or to run one of ONNX on the samples of a --batch [120]")
      .type("S");
  command.add("--memory-limit", source.memory_mib, 1, 1 << 30,
              "MiB that the same may take, activations included [4096]");
}

bool is_model(const std::string& what) {
  return what.starts_with(kZoo) || io::is_keras_file(what) ||
         is_named_like_keras(what);
}

bool is_onnx(const std::string& what) {
  return !is_model(what) &&
         (std::filesystem::path(what).extension() == ".onnx" ||
          io::is_onnx_file(what));
}

void warn_of_untrained(const ModelSource& source) {
  if (!source.what.starts_with(kZoo)) return;
  warn(fmt::format(
      "'{}' has its first, random weights: what it computes means nothing",
      source.what));
}

void check_no_architecture(const ModelSource& source) {
  if (source.architecture.empty()) return;
  throw ValueError(fmt::format(
      "--architecture: expected weights of Keras without one, got '{}'",
      source.what));
}

void check_no_input_shape(const ModelSource& source) {
  if (source.input_shape.empty()) return;
  throw ValueError(fmt::format(
      "--input-shape: expected a file of Keras or ONNX that becomes "
      "a model and leaves sizes open, got '{}'",
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
  return other;
}

Model read_model(const ModelSource& source) {
  const std::string& what = source.what;
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
        {.input_shapes = input_shapes(source), .limits = source.limits()});
    (*source.interfaces)[what] = std::move(read.interface);
    return std::move(read.model);
  }
  // One that is missing or cannot be read has a reason of its own.
  throw UnsupportedError(fmt::format("'{}': expected {}, got {}", what,
                                     source.expected, io::describe_file(what)));
}

}  // namespace octet::program
