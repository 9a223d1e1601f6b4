#include "export_options.h"

#include "choice.h"

namespace octet::program {

void add_export_options(Command& command, ExportOptions& o) {
  command.add("--opset", o.opset, 13, 21,
              "of the operators, from 13 to 21; every TensorRT since 8.0 reads "
              "13 [13]");
  command
      .add("--weights", o.weights,
           "of layers that are quantized: float32 values on the grid, which "
           "every TensorRT takes, or int8 codes, a quarter of the size with "
           "the same results [float32]")
      .type("float32|int8");
}

io::OnnxOptions onnx_options(const ExportOptions& o, io::OnnxOptions names) {
  using io::OnnxWeights;
  if (o.opset != 0) names.opset = static_cast<int>(o.opset);
  if (o.weights) {
    names.weights = choice<OnnxWeights, 2>(
        "--weights", *o.weights,
        {{{"float32", OnnxWeights::float32}, {"int8", OnnxWeights::int8}}});
  }
  return names;
}

}  // namespace octet::program
