#include "tflite_output.h"

#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "choice.h"

namespace octet::program {

bool is_tflite(const std::string& output) {
  return output.ends_with(".tflite");
}

void choose_format(const std::string& output, ExportOptions& file,
                   PlacementOptions* placement) {
  const bool named = file.target == "tflite";
  if (!is_tflite(output)) {
    if (named) {
      throw ValueError(
          "conflicting_options", "--target",
          fmt::format("tflite needs a .tflite output file, got '{}'", output));
    }
    if (!file.io) return;
    throw ValueError(
        "conflicting_options", "--io",
        fmt::format("needs a .tflite output file, got '{}'", output));
  }
  if (named) file.target.reset();
  const std::pair<const char*, bool> given[] = {
      {"--target", file.target.has_value()},
      {"--opset", file.opset != 0},
      {"--weights", file.weights.has_value()},
      {"--float16", file.float16},
      {"--batch", file.batch >= 0},
      {"--from-bytes", file.from_bytes.has_value()},
      {"--layout", file.layout.has_value()}};
  for (const auto& [option, is_given] : given) {
    if (!is_given) continue;
    throw ValueError(
        "conflicting_options", option,
        fmt::format("needs an .onnx output file, got '{}'", output));
  }
  (void)tflite_options(file, {});
  if (placement != nullptr && placement->policy.empty()) {
    placement->policy = "tflite";
  }
}

io::TfliteOptions tflite_options(const ExportOptions& file,
                                 const io::OnnxExportOptions& names) {
  io::TfliteOptions options{.input_names = names.input_names,
                            .output_names = names.output_names,
                            .description = names.description,
                            .classes = names.classes,
                            .preprocess = names.preprocess,
                            .resize = names.resize};
  if (file.io) {
    options.io =
        as_option("--io", [&] { return io::tflite_io_named(*file.io); });
  }
  return options;
}

std::string to_text(const std::string& output, const io::TfliteReport& report) {
  return fmt::format("{}: {} operators, {} bytes of weights, {} bytes\n",
                     output, report.operators, report.weights, report.bytes);
}

void add_report(Config& config, const io::TfliteReport& report) {
  config.set("operators", report.operators)
      .set("weight_bytes", report.weights)
      .set("bytes", report.bytes);
}

}  // namespace octet::program
