// layer_export FOLDER: writes FOLDER/<case>.onnx, a model of one layer with
// its golden weights, for each case of tests/golden/layers. Where the inputs
// are vectors there is FOLDER/<case>.flattened.onnx, too, which takes images
// and flattens them: layers must cope with features stored in another order.
// So do sequences, which FOLDER/<case>.ncl.onnx takes and gives with the
// channels first, as convolutions read them.
// FOLDER/branches.onnx has several inputs and outputs; Octet's numbers for it
// are in FOLDER/branches.json. FOLDER/refusals.json has the reasons for files
// that are missing. tests/oracle/compare_layers.py runs them all.
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

/// Whether the inputs can be flattened images of 2 rows and 2 channels.
bool are_features(const GoldenCase& c) {
  return std::ranges::all_of(c.inputs, [](const GoldenArray& x) {
    return x.value.shape().rank() == 2 && x.value.shape()[1] % 4 == 0;
  });
}

/// golden_model() after the Flatten of each input.
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

/// golden_model() between pads of nothing, which read sequences with the
/// channels first and hand them on so.
Model channels_first_model(const GoldenCase& c) {
  Model plain = golden_model(c);
  const ZeroPadding1D nothing({.padding = 0});
  const auto padded = [&](const SymbolicTensor& x) {
    return x.shape().rank() == 3 ? nothing(x) : x;
  };
  std::vector<SymbolicTensor> inputs;
  std::vector<SymbolicTensor> read;
  for (const GoldenArray& x : c.inputs) {
    inputs.push_back(input(x.value.shape().slice(1, x.value.shape().rank())));
    read.push_back(padded(inputs.back()));
  }
  return Model(inputs, {padded(plain(read)[0])});
}

/// Outputs that are read by others, come twice or are inputs.
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
  // Nothing of an earlier run may pass for a result of this one.
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  Config refusals = Config::Object();
  int written = 0;
  const auto write = [&](const std::string& name, const auto& make,
                         const io::OnnxOptions& options = {}) {
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
