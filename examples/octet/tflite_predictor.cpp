#include "tflite_predictor.h"

#include <utility>

#include <fmt/format.h>

#include <octet/io/tflite.h>
#include <octet/runtime/error.h>

namespace octet::program {
namespace {

std::vector<Tensor> run(const io::TfliteModel& model,
                        std::span<const Tensor> x) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < x.size(); ++i) {
    inputs.push_back(
        i < model.inputs().size() ? model.inputs()[i].to_stored(x[i]) : x[i]);
  }
  std::vector<Tensor> outputs = model.predict(inputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i] = model.outputs()[i].to_real(outputs[i]);
  }
  return outputs;
}

}  // namespace

Predictor load_tflite_predictor(const std::string& path) {
  const io::TfliteModel model = io::load_tflite_reference(path);
  Predictor result{.samples = Shape::kAnySize,
                   .batch = 1,  // of the sizes in the file
                   .predict = [model, path](std::span<const Tensor> x) {
                     return with_context(
                         [&] { return fmt::format("in '{}'", path); },
                         [&] { return run(model, x); });
                   }};
  for (const io::TfliteTensorInfo& input : model.inputs()) {
    const Shape shape = input.shape.with(0, Shape::kAnySize);
    result.inputs.push_back({input.name, "float32", shape, shape.to_string(),
                             orders_for_model("input", input.name, shape, {})});
  }
  for (const io::TfliteTensorInfo& output : model.outputs()) {
    result.outputs.push_back(output.name);
  }
  return result;
}

}  // namespace octet::program
