#include <memory>
#include <optional>
#include <string>

#include <octet/io/json.h>
#include <octet/io/npy.h>

#include "../program.h"
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
      "compare",
      "Run two models on the same samples and show where their values part, "
      "the layer that adds most noise first");
  add_model(command, options->a, kModelHelp);
  command.add("other", options->b, "the model that is held against it")
      .required();
  command
      .add("--data", options->data,
           "X.npy: [N,...], in the axis order of the first model; of the "
           "second one, or the other one of channels first and last, where the "
           "shape tells")
      .type("X.npy")
      .required();
  add_layout_option(command, options->layout,
                    "axis order of the samples, where their shape fits both "
                    "[that of the first model]");
  command.add("--labels", options->labels, "L.npy: int64 [N], for accuracy")
      .type("L.npy");
  command.add("--batch", options->batch, 1, 1 << 20,
              "samples to run at a time [16]");
  command.add_flag("--json", options->json, "print JSON instead of a table");
  command.set_footer(
      R"(Layers are matched by their names, without "quant_". Noise is the power of the
difference as a share of the power of the first model's values; what a layer
adds to the noise that it reads is its own. ONNX files run node by node, as the
standard's reference has them.

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
    const io::Comparison result =
        io::compare_models(read_traced(options->a), read_traced(second), x,
                           {.batch = options->batch,
                            .labels = labels,
                            .layout = layout_of(options->layout)});
    print(options->json ? io::to_json(io::to_config(result)) + "\n"
                        : values_text(result.by_noise()) + totals_text(result));
  });
}

}  // namespace octet::program
