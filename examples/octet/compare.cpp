#include <memory>
#include <optional>
#include <string>

#include <octet/io/data.h>
#include <octet/io/json.h>

#include "../common/program.h"
#include "commands.h"
#include "comparison_text.h"
#include "sample_layout.h"

namespace octet::program {

void add_compare(CommandLine& program) {
  struct Options {
    ModelSource a;
    std::string b;
    std::string data;
    std::string labels;
    std::optional<std::string> layout;
    int64_t batch = 16;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  Command command = program.add_command(
      "compare", "Compare the layer outputs of two models on the same samples");
  add_model(command, options->a, kModelHelp);
  command.add("other", options->b, "model to compare with").required();
  command.begin_group("Input");
  command
      .add("--data", options->data,
           "samples [N,...] in the axis order of either model")
      .type("X.npy")
      .required();
  add_layout_option(command, options->layout,
                    "axis order of samples whose shape fits NHWC and NCHW "
                    "(default: the first model's)");
  command
      .add("--labels", options->labels,
           "class labels int64 [N], to report accuracy")
      .type("L.npy");
  command.add("--batch", options->batch, 1, 1 << 20, "batch size")
      .show_default();
  command.begin_group("Output");
  command.add_flag("--json", options->json, "print JSON");
  command.set_footer(
      R"(
Layers are matched by name, ignoring "quant_", and sorted by the noise they
add. Noise is the power of the difference relative to the power of the first
model's output; added noise excludes the noise of the layer's inputs. Column
"max error" is the largest difference, "largest" the largest magnitude in the
first model, "changed" the number of quantized values that differ. ONNX files
run node by node on the reference executor. Samples may be NCHW or NHWC: the
shape selects the order, or --layout if both fit.

Examples:
  octet compare model.h5 int8.onnx --data x.npy --labels l.npy
  octet compare before.onnx after.onnx --data x_nchw.npy --json
)");
  command.when_chosen([options] {
    ModelSource second = options->a;
    second.what = options->b;
    warn_of_untrained(options->a);
    const Tensor x = io::read_npy(options->data);
    check_samples(x, options->a);
    check_samples(x, second);
    const Tensor labels =
        options->labels.empty() ? Tensor() : io::read_npy(options->labels);
    const io::ModelComparison result =
        io::compare_models(read_traced(options->a), read_traced(second), x,
                           {.batch = options->batch,
                            .labels = labels,
                            .layout = layout_of(options->layout)});
    print(options->json ? io::to_json(io::to_config(result)) + "\n"
                        : values_text(result.by_noise()) + totals_text(result));
  });
}

}  // namespace octet::program
