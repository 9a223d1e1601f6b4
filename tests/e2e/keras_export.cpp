// keras_export FOLDER: imports the files of tests/golden/keras, and the shared
// test data if available, and writes each model as FOLDER/<name>.onnx and the
// outputs of Keras as FOLDER/<name>.json. tests/oracle/compare_keras.py runs
// and compares them.
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <octet/io/keras.h>
#include <octet/io/onnx.h>

#include "../io/keras_files.h"
#include "exported_case.h"

namespace octet {
namespace {

void write_model(const Model& model, const std::string& name,
                 const io::KerasCase& expected,
                 const std::filesystem::path& folder) {
  Config::List inputs;
  for (const Tensor& x : expected.inputs) inputs.push_back(to_config(x));
  Config::List outputs;
  for (const Tensor& y : expected.outputs) outputs.push_back(to_config(y));
  write_file(folder / (name + ".json"),
             io::to_json(Config()
                             .set("class_name", "Model")
                             .set("inputs", std::move(inputs))
                             .set("outputs", std::move(outputs))));
  io::export_onnx(model, folder / (name + ".onnx"));
}

int write_all(const std::filesystem::path& folder) {
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  int written = 0;
  for (const char* file :
       {"k1_tf.h5", "k2_functional.h5", "k2_sequence.h5",
        "k3_applications.keras", "k3_channels_first.keras",
        "k3_functional.keras", "k3_preprocessing.keras",
        "k3_preprocessing_channels_first.keras", "k3_sequence.keras",
        "k3_signal.keras", "k3_signal_channels_first.keras",
        "toolkit_residual.h5", "toolkit_sequence.h5"}) {
    const std::string name = std::filesystem::path(file).stem();
    write_model(io::load_keras(io::keras_golden(file)), name,
                io::keras_case(name), folder);
    ++written;
  }
  struct Published {
    const char* name;
    Shape input;
    int64_t classes;
  };
  for (const auto& [name, input, classes] :
       {Published{"pretrainedResnet", {2, 32, 32, 3}, 10},
        Published{"kws_ref_model_converted", {2, 49, 10, 1}, 12}}) {
    const auto path = testdata(fmt::format("models/{}.h5", name));
    if (!std::filesystem::exists(path)) continue;
    const auto raw = [&](const char* end, const Shape& shape) {
      return io::raw_floats(testdata(fmt::format("golden/{}.h5{}", name, end)),
                            shape);
    };
    write_model(io::load_keras(path), name,
                {{raw(".in.f32", input)}, {raw(".out.f32", {2, classes})}},
                folder);
    ++written;
  }
  return written;
}

}  // namespace
}  // namespace octet

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: keras_export FOLDER\n");
    return 2;
  }
  try {
    fmt::print("{} models written\n", octet::write_all(argv[1]));
  } catch (const std::exception& error) {
    fmt::print(stderr, "keras_export: {}\n", error.what());
    return 1;
  }
  return 0;
}
