// Builds a TensorRT engine from an exported file, with a batch profile and a
// timing cache; runs the golden vectors of `octet quantize --golden`, and
// prints the output error, the time of each layer and the number of INT8
// layers.
//
// Compiled if CMake finds TensorRT 10 or 11 (OCTET_TENSORRT_DIR).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <NvInfer.h>
#include <NvOnnxParser.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <octet/io/data.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>
#include <octet/runtime/tensor.h>

#include "common/command_line.h"
#include "common/program.h"

namespace octet::program {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string model;
  std::string golden;  // folder; "": beside the model
  int64_t most = 32;
  int64_t runs = 50;
};

class Logger final : public nvinfer1::ILogger {
  void log(Severity severity, const char* text) noexcept override {
    if (severity <= Severity::kWARNING) fmt::print(stderr, "{}\n", text);
  }
};

/// Takes ownership of a TensorRT object.
/// Throws: runtime_error for null; the TensorRT log has the reason.
template <class T>
std::unique_ptr<T> made(T* object, std::string_view what) {
  if (object != nullptr) return std::unique_ptr<T>(object);
  throw std::runtime_error(fmt::format("TensorRT: cannot create {}", what));
}

void check(cudaError_t status, std::string_view what) {
  if (status == cudaSuccess) return;
  throw std::runtime_error(
      fmt::format("CUDA: {}: {}", what, cudaGetErrorString(status)));
}

/// Device memory.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(size_t bytes) {
    check(cudaMalloc(&data_, bytes), "memory");
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)) {}
  DeviceBuffer& operator=(DeviceBuffer&&) = delete;
  ~DeviceBuffer() { cudaFree(data_); }
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

/// Total milliseconds per layer.
class Profiler final : public nvinfer1::IProfiler {
 public:
  void reportLayerTime(const char* name, float ms) noexcept override {
    const auto found = std::ranges::find(
        layers_, std::string_view(name),
        [](const auto& layer) { return std::string_view(layer.first); });
    if (found != layers_.end()) {
      found->second += ms;
    } else {
      layers_.emplace_back(name, ms);
    }
  }
  const std::vector<std::pair<std::string, double>>& layers() const {
    return layers_;
  }

 private:
  std::vector<std::pair<std::string, double>> layers_;
};

/// Adds a profile: dynamic sizes of inputs, which are batch sizes, range from 1
/// to `most`.
void add_profile(nvinfer1::IBuilder& builder,
                 const nvinfer1::INetworkDefinition& network,
                 nvinfer1::IBuilderConfig& config, int64_t opt, int64_t most) {
  using Selector = nvinfer1::OptProfileSelector;
  nvinfer1::IOptimizationProfile* profile = builder.createOptimizationProfile();
  bool open = false;
  for (int32_t i = 0; i < network.getNbInputs(); ++i) {
    const nvinfer1::ITensor& input = *network.getInput(i);
    const auto with_batch = [&](int64_t batch) {
      nvinfer1::Dims dims = input.getDimensions();
      for (int32_t d = 0; d < dims.nbDims; ++d) {
        if (dims.d[d] != -1) continue;
        dims.d[d] = batch;
        open = true;
      }
      return dims;
    };
    profile->setDimensions(input.getName(), Selector::kMIN, with_batch(1));
    profile->setDimensions(input.getName(), Selector::kOPT, with_batch(opt));
    profile->setDimensions(input.getName(), Selector::kMAX, with_batch(most));
  }
  if (open && config.addOptimizationProfile(profile) < 0) {
    throw std::runtime_error("TensorRT: invalid batch profile");
  }
}

/// Returns the serialized engine. Reads and updates the timing cache beside the
/// file.
std::string build(Logger& logger, const Options& o, int64_t opt) {
  const auto builder = made(nvinfer1::createInferBuilder(logger), "a builder");
#if NV_TENSORRT_MAJOR >= 11
  constexpr uint32_t kFlags = 0;  // always strongly typed
#else
  using Flag = nvinfer1::NetworkDefinitionCreationFlag;
  constexpr uint32_t kFlags = 1U
                              << static_cast<uint32_t>(Flag::kSTRONGLY_TYPED);
#endif
  const auto network = made(builder->createNetworkV2(kFlags), "a network");
  const auto parser =
      made(nvonnxparser::createParser(*network, logger), "a parser");
  if (!parser->parseFromFile(
          o.model.c_str(),
          static_cast<int>(nvinfer1::ILogger::Severity::kWARNING))) {
    std::string problems;
    for (int32_t i = 0; i < parser->getNbErrors(); ++i) {
      problems += fmt::format("\n  {}", parser->getError(i)->desc());
    }
    throw FormatError("unsupported_model", o.model,
                      fmt::format("rejected by TensorRT:{}", problems));
  }
  const auto config = made(builder->createBuilderConfig(), "a configuration");
  config->setProfilingVerbosity(nvinfer1::ProfilingVerbosity::kDETAILED);
  add_profile(*builder, *network, *config, opt, o.most);
  const fs::path cache_file = fs::path(o.model).replace_extension(
      fmt::format(".trt{}.timing_cache", NV_TENSORRT_MAJOR));
  const std::string known =
      fs::exists(cache_file) ? read_file(cache_file) : std::string();
  const auto cache =
      made(config->createTimingCache(known.data(), known.size()), "a cache");
  if (!config->setTimingCache(*cache, false)) {
    throw std::runtime_error(fmt::format(
        "{}: the timing cache belongs to another device or version; remove it",
        cache_file.string()));
  }
  const auto engine =
      made(builder->buildSerializedNetwork(*network, *config), "an engine");
  const auto timings =
      made(config->getTimingCache()->serialize(), "a timing cache");
  write_file(cache_file,
             {static_cast<const char*>(timings->data()), timings->size()});
  return {static_cast<const char*>(engine->data()), engine->size()};
}

/// Returns a golden vector, such as "output_0.npy".
Tensor golden(const fs::path& folder, std::string_view kind, size_t index) {
  return io::read_npy(folder / fmt::format("{}_{}.npy", kind, index));
}

struct Ends {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

/// Returns inputs and outputs in file order.
/// Throws: UnsupportedError for types other than float32.
Ends ends_of(const nvinfer1::ICudaEngine& engine) {
  Ends ends;
  for (int32_t i = 0; i < engine.getNbIOTensors(); ++i) {
    const char* name = engine.getIOTensorName(i);
    if (engine.getTensorDataType(name) != nvinfer1::DataType::kFLOAT) {
      throw UnsupportedError("unsupported_type",
                             fmt::format("tensor '{}'", name),
                             "must be float32");
    }
    const bool input =
        engine.getTensorIOMode(name) == nvinfer1::TensorIOMode::kINPUT;
    (input ? ends.inputs : ends.outputs).emplace_back(name);
  }
  return ends;
}

void print_difference(const std::string& name, const Tensor& y,
                      const Tensor& expected) {
  double largest = 0;
  double difference = 0;
  for (size_t i = 0; i < y.f32().size(); ++i) {
    const double e = expected.f32()[i];
    largest = std::max(largest, std::fabs(e));
    difference = std::max(difference, std::fabs(y.f32()[i] - e));
  }
  print(fmt::format(
      "{}: max abs difference {:.3g} from the golden vector (max {:.3g})\n",
      name, difference, largest));
}

/// Runs the golden inputs and compares the outputs.
void run(nvinfer1::ICudaEngine& engine, const fs::path& folder,
         const Options& o) {
  const auto context = made(engine.createExecutionContext(), "a context");
  const Ends ends = ends_of(engine);
  std::vector<DeviceBuffer> buffers;
  const auto bind = [&](const std::string& name, const Tensor& value) {
    const auto bytes = static_cast<size_t>(value.bytes());
    buffers.emplace_back(bytes);
    check(cudaMemcpy(buffers.back().data(), value.raw(), bytes,
                     cudaMemcpyHostToDevice),
          "copy to the device");
    if (!context->setTensorAddress(name.c_str(), buffers.back().data())) {
      throw std::runtime_error(
          fmt::format("TensorRT: cannot bind tensor '{}'", name));
    }
  };
  for (size_t i = 0; i < ends.inputs.size(); ++i) {
    const Tensor x = golden(folder, "input", i);
    nvinfer1::Dims dims{};
    dims.nbDims = x.shape().rank();
    std::ranges::copy(x.shape().dims(), dims.d);
    if (!context->setInputShape(ends.inputs[i].c_str(), dims)) {
      throw ShapeError("invalid_shape",
                       fmt::format("input '{}'", ends.inputs[i]),
                       fmt::format("the engine does not accept shape {}",
                                   x.shape().to_string()));
    }
    bind(ends.inputs[i], x);
  }
  std::vector<Tensor> expected;
  for (size_t i = 0; i < ends.outputs.size(); ++i) {
    expected.push_back(golden(folder, "output", i));
    const nvinfer1::Dims dims =
        context->getTensorShape(ends.outputs[i].c_str());
    if (!std::ranges::equal(
            expected[i].shape().dims(),
            std::span(dims.d, static_cast<size_t>(std::max(0, dims.nbDims))))) {
      throw ShapeError("shape_mismatch",
                       fmt::format("output '{}'", ends.outputs[i]),
                       fmt::format("shape differs from the golden vector, {}",
                                   expected[i].shape().to_string()));
    }
    bind(ends.outputs[i], Tensor::zeros(expected[i].shape()));
  }
  const auto once = [&] {
    if (!context->enqueueV3(nullptr))
      throw std::runtime_error("TensorRT: the run failed");
    check(cudaStreamSynchronize(nullptr), "run");
  };
  once();  // warm-up
  Profiler profiler;
  context->setProfiler(&profiler);
  for (int64_t i = 0; i < o.runs; ++i) once();
  double total = 0;
  for (const auto& [name, ms] : profiler.layers()) total += ms;
  const auto runs = static_cast<double>(o.runs);
  for (const auto& [name, ms] : profiler.layers()) {
    print(fmt::format("{:9.4f} ms  {}\n", ms / runs, name));
  }
  print(fmt::format("{:9.4f} ms total\n", total / runs));
  for (size_t i = 0; i < ends.outputs.size(); ++i) {
    Tensor y(expected[i].shape());
    check(cudaMemcpy(y.raw(), buffers[ends.inputs.size() + i].data(),
                     static_cast<size_t>(y.bytes()), cudaMemcpyDeviceToHost),
          "copy from the device");
    print_difference(ends.outputs[i], y, expected[i]);
  }
}

/// Prints the number of layers with INT8 tensors.
void print_types(const nvinfer1::ICudaEngine& engine) {
  const auto inspector = made(engine.createEngineInspector(), "an inspector");
  int in_int8 = 0;
  for (int32_t i = 0; i < engine.getNbLayers(); ++i) {
    const std::string_view text = inspector->getLayerInformation(
        i, nvinfer1::LayerInformationFormat::kJSON);
    in_int8 += text.find("Int8") != text.npos || text.find("INT8") != text.npos;
  }
  print(fmt::format("{} of {} layers with tensors in INT8\n", in_int8,
                    engine.getNbLayers()));
}

void make_engine(const Options& o) {
  const fs::path folder = o.golden.empty()
                              ? fs::path(o.model).replace_extension(".golden")
                              : fs::path(o.golden);
  const int64_t samples = golden(folder, "input", 0).shape()[0];
  if (samples > o.most) {
    throw ValueError(
        "out_of_range", "--most",
        fmt::format(
            "must be at least {}, the samples of the golden vectors, got {}",
            samples, o.most));
  }
  Logger logger;
  const std::string bytes = build(logger, o, samples);
  const fs::path file = fs::path(o.model).replace_extension(
      fmt::format(".trt{}.engine", NV_TENSORRT_MAJOR));
  write_file(file, bytes);
  print(fmt::format("{}: {} bytes\n", file.string(), bytes.size()));
  const auto runtime = made(nvinfer1::createInferRuntime(logger), "a runtime");
  const auto engine = made(
      runtime->deserializeCudaEngine(bytes.data(), bytes.size()), "an engine");
  run(*engine, folder, o);
  print_types(*engine);
}

}  // namespace
}  // namespace octet::program

int main(int argc, char** argv) {
  using namespace octet::program;
  Options o;
  CommandLine program("Build, time and verify a TensorRT engine.");
  program.add("onnx", o.model, "ONNX file written by Octet").required();
  program.add("--golden", o.golden,
              "folder of golden vectors (default: beside the file)");
  program.add("--most", o.most, 1, 1 << 20, "maximum batch size (default: 32)");
  program.add("--runs", o.runs, 1, 1 << 20,
              "number of timed runs (default: 50)");
  return program.run(argc, argv, [&] { make_engine(o); });
}
