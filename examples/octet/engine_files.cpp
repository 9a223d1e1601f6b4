#include "engine_files.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <octet/io/image.h>
#include <octet/io/onnx_reference.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>
#include <octet/runtime/rng.h>

#include "../common/program.h"

namespace octet::program {
namespace {

io::BatchProfile profile_of(const std::string& text) {
  std::vector<int64_t> sizes;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    int64_t size = 0;
    const auto [next, problem] = std::from_chars(at, end, size);
    if (problem != std::errc() || (next < end && *next != ',')) break;
    sizes.push_back(size);
    at = next < end ? next + 1 : next;
  }
  if (sizes.size() != 3 || at != end || text.ends_with(',') || sizes[0] < 1 ||
      sizes[0] > sizes[1] || sizes[1] > sizes[2]) {
    throw ValueError(
        "invalid_value", "--batches",
        fmt::format("must be three ascending sizes such as 1,8,32, got '{}'",
                    text));
  }
  return {sizes[0], sizes[1], sizes[2]};
}

/// Returns the input shape, with `batch` for dynamic sizes.
Shape shape_of(const io::OnnxTensorInfo& input, int64_t batch) {
  std::vector<int64_t> dims;
  for (const io::OnnxDim& dim : *input.shape) {
    const auto* size = std::get_if<int64_t>(&dim);
    dims.push_back(size != nullptr ? *size : batch);
  }
  return Shape(std::span<const int64_t>(dims));
}

/// Returns noise in [0,1) for floats, over the type's nonnegative range for
/// other types (below 128 for wide integers).
Tensor noise_of(const Shape& shape, const std::string& type, uint64_t seed) {
  Tensor x(shape);
  Rng(seed).fill_uniform(x, 0,
                         type == "float32" || type == "float16" ? 1.0f
                         : type == "bool"                       ? 2.0f
                         : type == "uint8"                      ? 256.0f
                                                                : 128.0f);
  return x;
}

template <class T>
Tensor rounded_down(const Tensor& x, DType type) {
  Tensor result(x.shape(), type);
  std::ranges::transform(x.f32(), result.data<T>().begin(),
                         [](float v) { return static_cast<T>(std::floor(v)); });
  return result;
}

/// Converts to the element type of the file.
/// Throws: UnsupportedError for other types.
Tensor as_type(const Tensor& x, const io::OnnxTensorInfo& input) {
  const std::string& type = input.type;
  if (type == "float32" || type == "float16" || type == "bfloat16") return x;
  if (type == "uint8") return rounded_down<uint8_t>(x, DType::u8);
  if (type == "int8") return rounded_down<int8_t>(x, DType::i8);
  if (type == "int32") return rounded_down<int32_t>(x, DType::i32);
  if (type == "int64") return rounded_down<int64_t>(x, DType::i64);
  if (type == "bool") return rounded_down<bool>(x, DType::boolean);
  throw UnsupportedError(
      "unsupported_type", "--golden",
      fmt::format("type {} of input '{}' is not supported", type, input.name));
}

/// Returns noise with the distribution of images: random bytes, preprocessed as
/// the file metadata specifies; in [0,1) without metadata.
Tensor noise_like_images(const Shape& file, const std::string& preprocess,
                         uint64_t seed) {
  if (preprocess.empty() || file.rank() != 4) {
    return noise_of(file, "float32", seed);
  }
  const bool channels_first = file[1] == 1 || file[1] == 3;
  const Shape nhwc =
      channels_first ? Shape{file[0], file[2], file[3], file[1]} : file;
  Tensor bytes = noise_of(nhwc, "uint8", seed);
  for (float& value : bytes.f32()) value = std::floor(value);
  const Tensor x = io::preprocess_input(bytes, preprocess);
  return channels_first ? x.transposed({0, 3, 1, 2}) : x;
}

/// Returns the first `count` samples, repeated if there are fewer.
std::vector<Tensor> first_samples(const Dataset& data, int64_t count) {
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < count; ++i) indices.push_back(i % data.size());
  return data.batch(indices).inputs;
}

/// Returns the samples in the file's axis order; empty if no order fits.
Tensor in_order_of(const Shape& file, const Tensor& x) {
  if (x.shape().rank() == 4) {
    const Tensor nchw = x.transposed({0, 3, 1, 2});
    if (nchw.shape() == file) return nchw;
  }
  if (x.shape() == file) return x;
  if (x.shape().rank() == 3) {
    const Tensor ncl = x.transposed({0, 2, 1});
    if (ncl.shape() == file) return ncl;
  }
  return {};
}

io::GoldenVectors golden_of(const std::string& onnx, int64_t batch,
                            const Dataset* data, const FileLimits& limits) {
  const io::OnnxReference model = io::load_onnx_reference(onnx, limits);
  const std::string preprocess = io::inspect_onnx(onnx).preprocess;
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    const io::OnnxTensorInfo& input = model.inputs()[i];
    const Shape shape = shape_of(input, batch);
    Tensor x;
    if (data != nullptr) {
      x = in_order_of(shape, first_samples(*data, shape[0]).at(i));
    }
    if (x.empty()) {
      x = input.type == "float32" ? noise_like_images(shape, preprocess, i)
                                  : noise_of(shape, input.type, i);
    }
    inputs.push_back(as_type(x, input));
  }
  return io::write_golden(onnx, inputs, limits);
}

}  // namespace

void add_engine_options(Command& command, EngineOptions& o,
                        const std::string& output) {
  command.begin_group("Deployment");
  command
      .add_flag("--golden", o.golden,
                "also write OUT.golden/ (inputs and expected outputs, .npy and "
                "raw) and OUT.commands.sh (trtexec and polygraphy)")
      .also_writes([&output]() -> std::vector<Output> {
        std::filesystem::path path(output);
        return {{"--golden", path.replace_extension(".golden").string()},
                {"--golden", path.replace_extension(".commands.sh").string()}};
      });
  command
      .add("--batches", o.batches,
           "batch profile of the engine, for files with a dynamic batch size")
      .type("MIN,OPT,MAX")
      .show_default();
}

void check_engine_options(const EngineOptions& o) {
  (void)profile_of(o.batches);
}

std::string write_engine_files(const std::string& onnx, io::Target target,
                               const EngineOptions& o, const Dataset* data,
                               const FileLimits& limits) {
  if (!o.golden) return {};
  const io::BatchProfile batches = profile_of(o.batches);
  const io::GoldenVectors golden = golden_of(onnx, batches.opt, data, limits);
  const std::string vectors =
      fmt::format("{}: {} inputs, {} outputs\n",
                  golden.inputs.at(0).npy.parent_path().string(),
                  golden.inputs.size(), golden.outputs.size());
  if (target == io::Target::openvino || target == io::Target::onnxruntime) {
    return vectors;
  }
  const std::string lines = io::engine_commands(
      onnx, {.target = target, .batches = batches, .golden = &golden});
  const auto file =
      std::filesystem::path(onnx).replace_extension(".commands.sh");
  write_file(file, lines);
  return fmt::format("{}{}:\n\n{}", vectors, file.string(), lines);
}

}  // namespace octet::program
