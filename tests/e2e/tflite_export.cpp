// tflite_export FOLDER: exports layers and networks, float and INT8.
//
// <name>.int8.tflite has inputs <name>.int8.in.npy and the outputs of Octet's
// reference: <name>.int8.out.npy, and .litert.npy with TfliteRounding::litert.
// <name>.float.tflite has the outputs of the model. <name>.int16.tflite has
// 16-bit activations and the files of .int8.tflite; operators without an int16
// form are printed. Fails if fake-quantized evaluation differs from the
// reference by more than a step too often, or by more than two steps per
// operator with 16 bits. tests/oracle/compare_tflite.py runs the files.
#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/io/data.h>
#include <octet/io/tflite.h>
#include <octet/layers/layers.h>
#include <octet/layers/zoo.h>
#include <octet/quant/quant.h>
#include <octet/runtime/dataset.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>
#include <octet/runtime/rng.h>

#include "../disturb.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

struct TfliteCase {
  std::string name;
  Shape input;
  std::function<SymbolicTensor(SymbolicTensor)> body;
};

// Odd sizes, channel counts 1, 3 and 17.
std::vector<TfliteCase> layer_cases() {
  using S = SymbolicTensor;
  const Shape image{9, 7, 3};
  std::vector<TfliteCase> cases;
  const auto add = [&](std::string name, const Shape& input,
                       std::function<S(S)> body) {
    cases.push_back({std::move(name), input, std::move(body)});
  };
  add("conv_same", image, [](S x) {
    return Conv2D({.filters = 17,
                   .kernel_size = 3,
                   .strides = 2,
                   .padding = "same",
                   .activation = "relu"})(x);
  });
  add("conv_explicit", image, [](S x) {
    return Conv2D({.filters = 5,
                   .kernel_size = {3, 2},
                   .strides = 2,
                   .padding = Pads{1, 1, 1, 0}})(x);
  });
  add("conv_dilated", image, [](S x) {
    return Conv2D({.filters = 4, .kernel_size = 2, .dilation_rate = 2})(x);
  });
  add("conv_one_channel", {6, 5, 1}, [](S x) {
    return Conv2D({.filters = 1, .kernel_size = 2, .use_bias = false})(x);
  });
  add("conv_bn_relu6", image, [](S x) {
    x = Conv2D({.filters = 6, .kernel_size = 1, .use_bias = false})(x);
    x = BatchNormalization()(x);
    return ReLU({.max_value = 6})(x);
  });
  add("depthwise", image, [](S x) {
    return DepthwiseConv2D({.kernel_size = 3, .padding = "same"})(x);
  });
  add("depthwise_multiplier", image, [](S x) {
    return DepthwiseConv2D({.kernel_size = {2, 3},
                            .strides = 2,
                            .depth_multiplier = 3,
                            .activation = "relu6"})(x);
  });
  add("separable", image,
      [](S x) { return SeparableConv2D({.filters = 5, .kernel_size = 3})(x); });
  add("transposed", image, [](S x) {
    return Conv2DTranspose(
        {.filters = 4, .kernel_size = 3, .strides = 2, .padding = "same"})(x);
  });
  add("dense", {17}, [](S x) {
    return Dense({.units = 5})(Dense({.units = 9, .activation = "relu"})(x));
  });
  add("dense_wide", {64}, [](S x) { return Dense({.units = 200})(x); });
  add("dense_rows", {13, 64}, [](S x) { return Dense({.units = 50})(x); });
  add("dense_softmax", {17},
      [](S x) { return Dense({.units = 7, .activation = "softmax"})(x); });
  add("max_pool", image, [](S x) {
    return MaxPooling2D({.pool_size = 3, .strides = 2, .padding = "same"})(x);
  });
  add("max_pool_explicit", image, [](S x) {
    return MaxPooling2D({.pool_size = 3, .strides = 2, .padding = 1})(x);
  });
  add("average_pool", image, [](S x) {
    return AveragePooling2D(
        {.pool_size = {2, 3}, .strides = 2, .padding = "same"})(x);
  });
  add("global_average", image, [](S x) { return GlobalAveragePooling2D()(x); });
  add("global_max", image, [](S x) { return GlobalMaxPooling2D()(x); });
  add("residual", image, [](S x) {
    const S y = Conv2D({.filters = 3, .kernel_size = 3, .padding = "same"})(x);
    return Activation({.activation = "relu"})(Add()({x, y}));
  });
  add("subtract_multiply", image, [](S x) {
    const S y = Conv2D({.filters = 3, .kernel_size = 1})(x);
    return Multiply()({Subtract()({x, y}), y});
  });
  add("gate", image, [](S x) {
    S g = GlobalAveragePooling2D({.keepdims = true})(x);
    g = Conv2D({.filters = 3, .kernel_size = 1, .activation = "sigmoid"})(g);
    return Multiply()({x, g});
  });
  add("maximum_minimum", image, [](S x) {
    const S y = Conv2D({.filters = 3, .kernel_size = 1})(x);
    return Minimum()({Maximum()({x, y}), x});
  });
  add("concatenate", image, [](S x) {
    const S y = Conv2D({.filters = 2, .kernel_size = 1})(x);
    const S z =
        Conv2D({.filters = 4, .kernel_size = 1, .activation = "sigmoid"})(x);
    return Concatenate()({x, y, z});
  });
  add("silu", image, [](S x) {
    return Conv2D({.filters = 4, .kernel_size = 1, .activation = "silu"})(x);
  });
  for (const char* function :
       {"sigmoid", "tanh", "relu", "relu6", "hard_silu", "leaky_relu"}) {
    add(fmt::format("function_{}", function), image,
        [function](S x) { return Activation({.activation = function})(x); });
  }
  add("leaky", image,
      [](S x) { return LeakyReLU({.negative_slope = 0.3f})(x); });
  add("prelu", image, [](S x) { return PReLU({.shared_axes = {1, 2}})(x); });
  add("softmax_images", image, [](S x) { return Softmax()(x); });
  add("batch_norm", image, [](S x) { return BatchNormalization()(x); });
  add("pad_crop", image, [](S x) {
    x = ZeroPadding2D({.padding = Pads{1, 2, 0, 3}})(x);
    return Cropping2D({.cropping = Pads{0, 1, 2, 0}})(x);
  });
  add("reshape_permute", image, [](S x) {
    x = Permute({.dims = {3, 1, 2}})(x);
    return Dense({.units = 4})(Reshape({.target_shape = {9, 21}})(x));
  });
  add("slice", image, [](S x) {
    return x.index({Slice(), Slice(1, 8, 2), 2, Slice()});
  });
  add("gather", image, [](S x) {
    return Gather({.indices = {6, 0, 3, -1}, .axis = 2})(x);
  });
  add("pad_value", image, [](S x) {
    return Pad({.begin = {1, 0, 2}, .end = {0, 3, 1}, .value = 0.5f})(x);
  });
  add("upsample_nearest", image, [](S x) {
    return UpSampling2D({.size = {2, 3}})(x);
  });
  add("upsample_bilinear", image, [](S x) {
    return UpSampling2D({.size = 2, .interpolation = "bilinear"})(x);
  });
  add("sequence", {11, 5}, [](S x) {
    x = Conv1D({.filters = 8,
                .kernel_size = 3,
                .padding = "causal",
                .activation = "relu"})(x);
    x = DepthwiseConv1D({.kernel_size = 3, .padding = "same"})(x);
    x = MaxPooling1D({.pool_size = 2})(x);
    x = AveragePooling1D({.pool_size = 3})(x);
    return Dense({.units = 3})(GlobalAveragePooling1D()(x));
  });
  add("rescaling", image, [](S x) {
    x = Rescaling({.scale = {0.5f}, .offset = {-1.0f}})(x);
    return Conv2D({.filters = 2, .kernel_size = 2})(x);
  });
  add("matmul", {5, 8}, [](S x) {
    return Matmul({.transpose_b = true})({x, Dense({.units = 8})(x)});
  });
  // MLPerf Tiny's anomaly detection.
  add("autoencoder", {640}, [](S x) {
    for (const int64_t units : {128, 128, 128, 128, 8, 128, 128, 128, 128}) {
      x = BatchNormalization()(Dense({.units = units})(x));
      x = ReLU()(x);
    }
    return Dense({.units = 640})(x);
  });
  return cases;
}

// Share of the outputs within one quantization step.
double share_within_a_step(const Tensor& expected, const Tensor& q,
                           const io::TfliteTensorInfo& info) {
  int64_t near = 0;
  const Tensor steps = info.to_stored(expected);
  for (size_t i = 0; i < static_cast<size_t>(q.size()); ++i) {
    near += std::abs(steps.data<int8_t>()[i] - q.data<int8_t>()[i]) <= 1;
  }
  return static_cast<double>(near) / static_cast<double>(q.size());
}

Tensor noise(const Shape& shape, uint64_t seed) {
  Tensor x(shape);
  Rng rng(seed);
  rng.fill_normal(x, 0.2f, 1.0f);
  return x;
}

// Writes a file with stored inputs and the outputs of the reference; returns
// the outputs.
Tensor write_quantized(const io::TfliteFile& file, const Tensor& x,
                       const fs::path& folder, const std::string& name) {
  write_file(folder / (name + ".tflite"), file.bytes);
  const io::TfliteModel reference = io::tflite_from_bytes(file.bytes);
  const Tensor q = reference.inputs()[0].to_stored(x);
  const Tensor y = reference.predict(q);
  io::write_npy(folder / (name + ".in.npy"), q);
  io::write_npy(folder / (name + ".out.npy"), y);
  io::write_npy(folder / (name + ".litert.npy"),
                reference.predict(q, io::TfliteRounding::litert));
  return y;
}

void write_model(const Model& model, const Shape& input, const fs::path& folder,
                 const std::string& name, int64_t samples) {
  const Tensor x = noise(input, 1);
  io::export_tflite(model, folder / (name + ".float.tflite"));
  io::write_npy(folder / (name + ".float.in.npy"), x);
  io::write_npy(folder / (name + ".float.out.npy"), model.predict(x));
  Model int8 = quant::quantize_model(model, {.policy = quant::Policy::tflite});
  const Tensor calibration = noise(input.with(0, samples), 2);
  quant::calibrate(int8,
                   [&](const Model& m) { (void)m(Variable(calibration)); },
                   {.method = quant::Calibration::max});
  const io::TfliteFile file = io::to_tflite(int8);
  const Tensor y = write_quantized(file, x, folder, name + ".int8");
  const double share = share_within_a_step(
      int8.predict(x), y, io::tflite_from_bytes(file.bytes).outputs()[0]);
  fmt::print("{:22} {:5} operators, {:6.2f} % within a step\n", name,
             file.report.operators, 100 * share);
  // Differences of one step grow in later operators.
  const double least = file.report.operators == 1   ? 0.999
                       : file.report.operators < 10 ? 0.99
                                                    : 0.9;
  if (share < least) {
    throw ValueError("", name, "the reference disagrees with the model");
  }
}

// Returns the reason why the model has no int16 form; empty: it is written.
std::string write_int16(const Model& model, const Shape& input,
                        const fs::path& folder, const std::string& name) {
  Model int16 = quant::quantize_model(
      model, {.policy = quant::Policy::tflite, .activation = {.bits = 16}});
  const Tensor calibration = noise(input, 2);
  quant::calibrate(int16,
                   [&](const Model& m) { (void)m(Variable(calibration)); },
                   {.method = quant::Calibration::max});
  io::TfliteFile file;
  try {
    file = io::to_tflite(int16);
  } catch (const UnsupportedError& error) {
    return std::string(error.text());
  }
  const Tensor x = noise(input, 1);
  const Tensor y = write_quantized(file, x, folder, name + ".int16");
  const Tensor expected = io::tflite_from_bytes(file.bytes)
                              .outputs()[0]
                              .to_stored(int16.predict(x));
  int worst = 0;
  for (size_t i = 0; i < static_cast<size_t>(y.size()); ++i) {
    worst = std::max(
        worst, std::abs(expected.data<int16_t>()[i] - y.data<int16_t>()[i]));
  }
  // Kernels multiply sums by factors of 16 bits.
  if (worst > 2 * file.report.operators) {
    throw ValueError("", name, fmt::format("int16 differs by {} steps", worst));
  }
  return "";
}

void write_all(const fs::path& folder) {
  fs::remove_all(folder);
  fs::create_directories(folder);
  int problems = 0;
  const auto attempt = [&](const std::string& name, const auto& body) {
    try {
      body();
    } catch (const std::exception& error) {
      fmt::print("{}: {}\n", name, error.what());
      ++problems;
    }
  };
  for (const TfliteCase& each : layer_cases()) {
    attempt(each.name, [&] {
      const SymbolicTensor x = input(each.input);
      const Model model({x}, {each.body(x)}, {.seed = 3});
      disturb(model);
      write_model(model, x.shape().with(0, 40), folder, each.name, 64);
      const std::string reason =
          write_int16(model, x.shape().with(0, 40), folder, each.name);
      if (!reason.empty()) fmt::print("{}.int16: {}\n", each.name, reason);
    });
  }
  for (const char* name : {"lenet", "resnet8", "ds_cnn", "mobilenet_v1_025"}) {
    attempt(name, [&] {
      const Model model = zoo::make(name, {.seed = 3});
      disturb(model);
      const Shape shape = model.inputs()[0].shape().with(0, 20);
      write_model(model, shape, folder, name, 8);
      (void)write_int16(model, shape, folder, name);
    });
  }
  if (problems > 0) {
    throw ValueError("", "tflite_export", fmt::format("{} problems", problems));
  }
}

}  // namespace
}  // namespace octet

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: tflite_export FOLDER\n");
    return 2;
  }
  try {
    octet::write_all(argv[1]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "tflite_export: {}\n", error.what());
    return 1;
  }
  return 0;
}
