// layer_export FOLDER: writes FOLDER/<case>.onnx, a model of one layer with
// golden weights, for each case of tests/golden/layers. For vector inputs,
// FOLDER/<case>.flattened.onnx takes images and flattens them, to test layers
// with permuted features. FOLDER/<case>.ncl.onnx takes and returns sequences
// with channels first, as convolutions do. FOLDER/branches.onnx has several
// inputs and outputs; FOLDER/branches.json has Octet's outputs.
// FOLDER/refusals.json has the errors of missing files.
// tests/oracle/compare_layers.py runs the files.
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <octet/io/json.h>
#include <octet/io/onnx.h>
#include <octet/runtime/file.h>

#include "../layers/golden.h"
#include "exported_case.h"

namespace octet {
namespace {

/// Returns whether the inputs can be flattened images of 2 rows and 2 channels.
bool are_features(const GoldenCase& c) {
  return std::ranges::all_of(c.inputs, [](const GoldenArray& x) {
    return x.value.shape().rank() == 2 && x.value.shape()[1] % 4 == 0;
  });
}

/// Returns golden_model() with a Flatten before each input.
Model flattened_model(const GoldenCase& c) {
  Model plain = golden_model(c);
  std::vector<SymbolicTensor> images;
  std::vector<SymbolicTensor> features;
  for (const GoldenArray& x : c.inputs) {
    images.push_back(input({2, x.value.shape()[1] / 4, 2}));
    features.push_back(Flatten()(images.back()));
  }
  return Model(images, plain(features));
}

bool is_sequence(const GoldenArray& x) { return x.value.shape().rank() == 3; }

/// Returns golden_model() between resizes to the same size, which use
/// sequences with channels first.
Model channels_first_model(const GoldenCase& c) {
  Model plain = golden_model(c);
  const UpSampling1D nothing({.size = 1});
  const auto resized = [&](const SymbolicTensor& x) {
    return x.shape().rank() == 3 ? nothing(x) : x;
  };
  std::vector<SymbolicTensor> inputs;
  std::vector<SymbolicTensor> read;
  for (const GoldenArray& x : c.inputs) {
    inputs.push_back(input(x.value.shape().slice(1, x.value.shape().rank())));
    read.push_back(resized(inputs.back()));
  }
  return Model(inputs, {resized(plain(read)[0])});
}

/// Outputs that are also consumed, repeated, or inputs.
Model branches() {
  const SymbolicTensor image = input({5, 4, 3}, "image");
  const SymbolicTensor vector = input({7}, "vector");
  const SymbolicTensor stem =
      Conv2D({.filters = 2, .activation = "relu", .name = "stem"})(image);
  const SymbolicTensor flat = Flatten({.name = "flat"})(stem);
  const Dense head({.units = 7, .name = "head"});
  const SymbolicTensor class_scores = head(flat);
  const Dense shared({.units = 3, .name = "shared"});
  return Model({image, vector}, {stem, flat, class_scores, shared(vector),
                                 shared(class_scores), flat, vector, image});
}

void write_all(const std::filesystem::path& folder) {
  // Removes results of earlier runs.
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  Config refusals = Config::Object();
  int written = 0;
  const auto write = [&](const std::string& name, const auto& make,
                         const io::OnnxExportOptions& options = {}) {
    try {
      io::export_onnx(make(), folder / (name + ".onnx"), options);
      ++written;
    } catch (const Error& error) {
      refusals.set(name, error.what());
    }
  };
  for (const auto& path : golden_files("layers")) {
    const GoldenCase c = read_golden(path);
    write(c.name, [&] { return golden_model(c); });
    for (const int opset : {18, 21}) {
      write(fmt::format("{}.opset{}", c.name, opset),
            [&] { return golden_model(c); }, {.opset = opset});
    }
    write(c.name + ".float16", [&] { return golden_model(c); },
          {.float16 = true});
    if (are_features(c)) {
      write(c.name + ".flattened", [&] { return flattened_model(c); });
    }
    if (std::ranges::any_of(c.inputs, is_sequence)) {
      write(c.name + ".ncl", [&] { return channels_first_model(c); });
    }
  }
  const Model several = branches();
  write_case(several, noise_for(several, 2), folder, "branches");
  write_file(folder / "refusals.json", io::to_json(refusals));
  fmt::print("{} files written, {} refusals\n", written + 1,
             refusals.as_object().size());
}

}  // namespace
}  // namespace octet

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: layer_export FOLDER\n");
    return 2;
  }
  try {
    octet::write_all(argv[1]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "layer_export: {}\n", error.what());
    return 1;
  }
  return 0;
}
