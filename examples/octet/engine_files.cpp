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

#include <octet/io/engine_commands.h>
#include <octet/io/onnx_model.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>
#include <octet/runtime/rng.h>

#include "../program.h"

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
    throw ValueError(fmt::format(
        "--batches: expected three sizes in order such as 1,8,32, got '{}'",
        text));
  }
  return {sizes[0], sizes[1], sizes[2]};
}

/// As the file has it, with `batch` for an open size.
Shape shape_of(const io::OnnxTensorInfo& input, int64_t batch) {
  std::vector<int64_t> dims;
  for (const io::OnnxDim& dim : *input.shape) {
    const auto* size = std::get_if<int64_t>(&dim);
    dims.push_back(size != nullptr ? *size : batch);
  }
  return Shape(std::span<const int64_t>(dims));
}

/// In [0,1), or whole numbers in [0,255].
Tensor noise_of(const Shape& shape, uint64_t seed, bool bytes = false) {
  Tensor x(shape);
  Rng(seed).fill_uniform(x, 0, bytes ? 256 : 1);
  if (bytes) {
    for (float& v : x.f32()) v = std::floor(v);
  }
  return x;
}

/// `count` samples, from the first one on and again.
std::vector<Tensor> first_samples(const Dataset& data, int64_t count) {
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < count; ++i) indices.push_back(i % data.size());
  return data.batch(indices).inputs;
}

/// The sample in the file's order of axes, or noise where it has neither.
Tensor in_order_of(const Shape& file, const Tensor& x, uint64_t seed) {
  if (x.shape().rank() == 4) {
    const Tensor nchw = x.transposed({0, 3, 1, 2});
    if (nchw.shape() == file) return nchw;
  }
  if (x.shape() == file) return x;
  if (x.shape().rank() == 3) {
    const Tensor ncl = x.transposed({0, 2, 1});
    if (ncl.shape() == file) return ncl;
  }
  return noise_of(file, seed);
}

io::GoldenVectors golden_of(const std::string& onnx, int64_t batch,
                            bool from_bytes, const Dataset* data,
                            const io::FileLimits& limits) {
  const io::OnnxModel model = io::load_onnx_reference(onnx, limits);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    const Shape shape = shape_of(model.inputs()[i], batch);
    inputs.push_back(
        data == nullptr || from_bytes
            ? noise_of(shape, i, from_bytes)
            : in_order_of(shape, first_samples(*data, shape[0]).at(i), i));
  }
  return io::write_golden(onnx, inputs, limits);
}

}  // namespace

void add_engine_options(Command& command, EngineOptions& o,
                        const std::string& output) {
  command
      .add_flag("--golden", o.golden,
                "also write OUT.golden/, inputs and what the file makes of "
                "them (.npy and raw), and OUT.commands.sh, the lines of "
                "trtexec and polygraphy for the target, printed too")
      .also_writes([&output]() -> std::vector<Output> {
        std::filesystem::path path(output);
        return {{"--golden", path.replace_extension(".golden").string()},
                {"--golden", path.replace_extension(".commands.sh").string()}};
      });
  command
      .add("--batches", o.batches,
           "what an engine is built for in these lines, where the file leaves "
           "the batch open")
      .type("MIN,OPT,MAX")
      .show_default();
}

void check_engine_options(const EngineOptions& o) {
  (void)profile_of(o.batches);
}

std::string write_engine_files(const std::string& onnx, io::OnnxTarget target,
                               const EngineOptions& o, bool from_bytes,
                               const Dataset* data,
                               const io::FileLimits& limits) {
  if (!o.golden) return {};
  const io::BatchProfile batches = profile_of(o.batches);
  const io::GoldenVectors golden =
      golden_of(onnx, batches.opt, from_bytes, data, limits);
  const std::string vectors =
      fmt::format("{}: {} inputs, {} outputs\n",
                  golden.inputs.at(0).npy.parent_path().string(),
                  golden.inputs.size(), golden.outputs.size());
  if (target == io::OnnxTarget::openvino ||
      target == io::OnnxTarget::onnxruntime) {
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
