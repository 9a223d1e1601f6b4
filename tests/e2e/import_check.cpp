// import_check FOLDER: imports every FOLDER/<name>.onnx and writes its outputs
// for the inputs <name>.x0.npy, .x1.npy, ... (<name>.y0.npy, ...), the model
// exported again (<name>.again.onnx), and the model quantized, unless the file
// has quantizers, and trained for a step (<name>.int8.onnx), with its outputs
// (<name>.int8.y0.npy, ...). Errors are lines of <name>.refused.txt.
// tests/oracle/compare_import.py creates the files and checks the results.
#include <algorithm>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <octet/io/data.h>
#include <octet/io/onnx.h>
#include <octet/quant/quant.h>
#include <octet/runtime/detail/exact_floats.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>
#include <octet/runtime/ops.h>
#include <octet/train/optimizer.h>

namespace octet {
namespace {

namespace fs = std::filesystem;

/// Returns a file input in the axis order of the model. All sizes differ, so
/// that the shape tells.
Tensor as_input(const Tensor& x, const Shape& wanted) {
  const Shape sample = wanted.slice(1, wanted.rank());
  if (x.shape().slice(1, x.shape().rank()) == sample) return x;
  const int rank = x.shape().rank();
  const bool steps_first =
      x.shape()[0] == sample[0] && x.shape()[-1] == sample[-1];
  if (rank == 2 || (rank == 3 && steps_first)) {
    return rank == 2 ? x.transposed({1, 0}) : x.transposed({1, 0, 2});
  }
  return x.shape().rank() == 4 ? x.transposed({0, 2, 3, 1})
                               : x.transposed({0, 2, 1});
}

std::vector<Tensor> inputs_of(const Model& model, const fs::path& base) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    const Tensor x = exact_floats(
        io::read_npy(fmt::format("{}.x{}.npy", base.string(), i)), "input");
    inputs.push_back(as_input(x, model.inputs()[i].shape()));
  }
  return inputs;
}

void write_outputs(const std::vector<Tensor>& outputs,
                   const std::string& base) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    io::write_npy(fmt::format("{}.y{}.npy", base, i), outputs[i]);
  }
}

void train_one_step(Model& model, const std::vector<Tensor>& inputs) {
  train::SGD optimizer({.learning_rate = 1e-4f});
  const std::vector<Variable> variables = model.trainable_variables();
  if (variables.empty()) return;
  optimizer.attach(variables);
  const std::vector<Variable> x(inputs.begin(), inputs.end());
  const std::vector<Variable> outputs = model(x, Mode::training);
  const auto moved = std::ranges::find_if(
      outputs, [](const Variable& y) { return y.requires_grad(); });
  if (moved == outputs.end()) return;
  const Variable& y = *moved;
  scale_shift(regularization_loss(y, 0, 1),
              1 / static_cast<float>(y.shape().size()))
      .backward();
  optimizer.step();
}

/// Returns few samples, so that a training step of any network fits in memory.
std::vector<Tensor> first_of(std::vector<Tensor> x) {
  constexpr int64_t kMost = 64;
  for (Tensor& t : x) t = t.slice(0, std::min(kMost, t.shape()[0]));
  return x;
}

/// Returns the model quantized and calibrated; unchanged if it has nothing to
/// quantize.
Model quantized(const Model& model, const std::vector<Tensor>& x) {
  try {
    Model result = quant::quantize_model(model);
    quant::calibrate(result, [&](const Model& m) { (void)m.predict(x); });
    return result;
  } catch (const ValueError&) {
    return model.clone();
  }
}

/// Exports for a target that supports the types of the quantizers.
void export_model(const Model& model, const io::OnnxInterface& interface,
                  const std::string& path) {
  const bool int8 = std::ranges::all_of(
      quant::quantizers(model),
      [](const auto& quantizer) { return quantizer->config().is_signed; });
  const auto target = int8 ? io::Target::any : io::Target::onnxruntime;
  io::export_onnx(model, path, {.target = target, .interface = interface});
}

void check(const fs::path& file) {
  fs::path base = file;
  base.replace_extension();
  const std::string name = base.string();
  io::OnnxImport imported = io::import_onnx(file);
  const std::vector<Tensor> x = inputs_of(imported.model, base);
  write_outputs(imported.model.predict(x), name);
  write_file(name + ".report.txt", imported.report.to_string());
  export_model(imported.model, imported.interface, name + ".again.onnx");
  Model trained = quant::quantizers(imported.model).empty()
                      ? quantized(imported.model, x)
                      : imported.model.clone();
  if (quant::quantizers(trained).empty()) return;
  quant::prepare_qat(trained);
  train_one_step(trained, first_of(x));
  export_model(trained, imported.interface, name + ".int8.onnx");
  write_outputs(trained.predict(x), name + ".int8");
}

void check_all(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".onnx") && std::ranges::count(name, '.') == 1) {
      files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    try {
      check(file);
    } catch (const Error& error) {
      fs::path refused = file;
      write_file(refused.replace_extension(".refused.txt"), error.what());
    }
  }
  fmt::print("{} files read\n", files.size());
}

}  // namespace
}  // namespace octet

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: import_check FOLDER\n");
    return 2;
  }
  try {
    octet::check_all(argv[1]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "import_check: {}\n", error.what());
    return 1;
  }
  return 0;
}
