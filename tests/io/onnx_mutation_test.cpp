// Mutated models: loading or running them gives Octet's errors or outputs, but
// no crash and no other exception.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <octet/io/onnx_reference.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "../testdata.h"
#include "model_mutator.h"
#include "mutator.h"
#include "onnx_run.h"

namespace octet::io {
namespace {

std::vector<std::string> originals() {
  std::vector<std::string> models{conv_model().SerializeAsString(),
                                  quantized_model().SerializeAsString()};
  const char* other = std::getenv("OCTET_ONNX_NODE_TESTS");
  const auto folder = other != nullptr ? std::filesystem::path(other)
                                       : testdata("onnx_node_tests");
  if (!std::filesystem::exists(folder)) return models;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    paths.push_back(entry.path() / "model.onnx");
  }
  std::ranges::sort(paths);
  for (const auto& path : paths) {
    if (std::filesystem::exists(path)) models.push_back(read_file(path));
  }
  return models;
}

/// Returns zeros of the model's input shapes; nothing if they are large.
std::vector<Tensor> zeros(const OnnxReference& model) {
  std::vector<Tensor> inputs;
  for (const OnnxTensorInfo& input : model.inputs()) {
    std::vector<int64_t> dims;
    int64_t count = 1;
    for (const OnnxDim& dim : input.shape.value_or(std::vector<OnnxDim>())) {
      const auto* size = std::get_if<int64_t>(&dim);
      dims.push_back(size == nullptr ? 2 : *size);
      count *= dims.back();
      if (count > 1 << 20) return {};
    }
    if (dims.size() > Shape::kMaxRank) return {};
    const DType type = input.type == "int64"   ? DType::i64
                       : input.type == "int32" ? DType::i32
                       : input.type == "int8"  ? DType::i8
                       : input.type == "uint8" ? DType::u8
                       : input.type == "bool"  ? DType::boolean
                                               : DType::f32;
    Tensor x(Shape(std::span<const int64_t>(dims)), type);
    if (x.bytes() > 0) std::memset(x.raw(), 0, static_cast<size_t>(x.bytes()));
    inputs.push_back(x);
  }
  return inputs;
}

TEST(OnnxMutation, EndsInAnOctetErrorOrARunnableModel) {
  const std::vector<std::string> models = originals();
  FileLimits limits;
  limits.memory_limit = 64 << 20;
  limits.time_limit = 2;
  int loaded = 0, ran = 0, refused = 0;
  const FuzzRuns runs(3000);
  // File for a model that crashes the process.
  const char* last = std::getenv("OCTET_FUZZ_LAST");
  for (uint64_t seed = 0; runs.more(seed); ++seed) {
    onnx::ModelProto model;
    ASSERT_TRUE(model.ParseFromString(models[seed % models.size()]));
    ModelMutator(seed).damage(model);
    SCOPED_TRACE(fmt::format("seed {}", seed));
    if (last != nullptr) std::ofstream(last) << model.SerializeAsString();
    try {
      const OnnxReference read =
          onnx_reference_from_bytes(model.SerializeAsString(), limits);
      ++loaded;
      const std::vector<Tensor> inputs = zeros(read);
      if (inputs.size() != read.inputs().size()) continue;
      (void)read.predict(inputs);
      ++ran;
    } catch (const InternalError& error) {
      ADD_FAILURE() << error.what();
    } catch (const Error&) {
      ++refused;
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
  fmt::print("{} models loaded, {} ran, {} refused\n", loaded, ran, refused);
  EXPECT_GT(ran, 0);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace octet::io
