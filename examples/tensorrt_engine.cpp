// From an exported file to a TensorRT engine: builds it for a profile of
// batches with a timing cache, runs the golden vectors that --golden of
// `octet quantize` wrote beside the file, and tells how far the outputs are
// from them, what each layer takes and which run in INT8.
//
// Compiled where CMake finds TensorRT 10 or 11 (OCTET_TENSORRT_DIR).
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

#include <octet/io/npy.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>
#include <octet/runtime/tensor.h>

#include "command_line.h"
#include "program.h"

namespace octet::program {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string model;
  std::string golden;  // a folder; "": beside the model
  int64_t most = 32;
  int64_t runs = 50;
};

class Logger final : public nvinfer1::ILogger {
  void log(Severity severity, const char* text) noexcept override {
    if (severity <= Severity::kWARNING) fmt::print(stderr, "{}\n", text);
  }
};

/// What TensorRT made. Throws: runtime_error if it made nothing; its log says
/// why.
template <class T>
std::unique_ptr<T> made(T* object, std::string_view what) {
  if (object != nullptr) return std::unique_ptr<T>(object);
  throw std::runtime_error(
      fmt::format("TensorRT: expected {}, got none", what));
}

void check(cudaError_t status, std::string_view what) {
  if (status == cudaSuccess) return;
  throw std::runtime_error(
      fmt::format("CUDA: {}: {}", what, cudaGetErrorString(status)));
}

/// Memory of the device.
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

/// Milliseconds a layer, of all runs.
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

/// The inputs' open sizes, which are batches, from 1 to `most`.
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
    throw std::runtime_error(
        "TensorRT: expected a profile of batches that fits, got none");
  }
}

/// The engine's bytes; the timing cache beside the file is read and renewed.
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
    throw FormatError(
        fmt::format("'{}': TensorRT refuses it:{}", o.model, problems));
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
        "'{}': expected a timing cache of this device and version; remove it",
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

/// "output_0.npy" of the golden vectors.
Tensor golden(const fs::path& folder, std::string_view kind, size_t index) {
  return io::read_npy(folder / fmt::format("{}_{}.npy", kind, index));
}

struct Ends {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

/// In the file's order. Throws: UnsupportedError for other than float32.
Ends ends_of(const nvinfer1::ICudaEngine& engine) {
  Ends ends;
  for (int32_t i = 0; i < engine.getNbIOTensors(); ++i) {
    const char* name = engine.getIOTensorName(i);
    if (engine.getTensorDataType(name) != nvinfer1::DataType::kFLOAT) {
      throw UnsupportedError(
          fmt::format("tensor '{}': expected float32", name));
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
  print(
      fmt::format("{}: {:.3g} from the golden vector, whose largest is "
                  "{:.3g}\n",
                  name, difference, largest));
}

/// Runs the golden inputs and compares what comes out.
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
          fmt::format("TensorRT: tensor '{}' has no place", name));
    }
  };
  for (size_t i = 0; i < ends.inputs.size(); ++i) {
    const Tensor x = golden(folder, "input", i);
    nvinfer1::Dims dims{};
    dims.nbDims = x.shape().rank();
    std::ranges::copy(x.shape().dims(), dims.d);
    if (!context->setInputShape(ends.inputs[i].c_str(), dims)) {
      throw ShapeError(
          fmt::format("input '{}': expected a shape that the "
                      "engine takes, got {}",
                      ends.inputs[i], x.shape().to_string()));
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
      throw ShapeError(fmt::format(
          "output '{}': expected the shape of the golden vector, {}, got "
          "another",
          ends.outputs[i], expected[i].shape().to_string()));
    }
    bind(ends.outputs[i], Tensor::zeros(expected[i].shape()));
  }
  const auto once = [&] {
    if (!context->enqueueV3(nullptr))
      throw std::runtime_error("TensorRT: the run failed");
    check(cudaStreamSynchronize(nullptr), "run");
  };
  once();  // the first one warms up
  Profiler profiler;
  context->setProfiler(&profiler);
  for (int64_t i = 0; i < o.runs; ++i) once();
  double total = 0;
  for (const auto& [name, ms] : profiler.layers()) total += ms;
  const auto runs = static_cast<double>(o.runs);
  for (const auto& [name, ms] : profiler.layers()) {
    print(fmt::format("{:9.4f} ms  {}\n", ms / runs, name));
  }
  print(fmt::format("{:9.4f} ms in all\n", total / runs));
  for (size_t i = 0; i < ends.outputs.size(); ++i) {
    Tensor y(expected[i].shape());
    check(cudaMemcpy(y.raw(), buffers[ends.inputs.size() + i].data(),
                     static_cast<size_t>(y.bytes()), cudaMemcpyDeviceToHost),
          "copy from the device");
    print_difference(ends.outputs[i], y, expected[i]);
  }
}

/// Layers whose description has tensors in INT8.
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
        fmt::format("--most: expected at least the {} samples of "
                    "the golden vectors, got {}",
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
  CommandLine program("Build and time a TensorRT engine, and compare it");
  program.add("onnx", o.model, "a file that Octet wrote").required();
  program.add("--golden", o.golden,
              "the folder of golden vectors [beside the file]");
  program.add("--most", o.most, 1, 1 << 20, "samples at a time [32]");
  program.add("--runs", o.runs, 1, 1 << 20, "that are timed [50]");
  return program.run(argc, argv, [&] { make_engine(o); });
}
