#include "export.h"

#include <span>

#include <fmt/format.h>

#include <octet/io/json.h>
#include <octet/quant/post_training.h>
#include <octet/quant/quantize_model.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/detail/file_name.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "class_names.h"

namespace octet::io {
namespace {

void check_names(const char* option, const std::vector<std::string>& names,
                 size_t ports) {
  if (names.empty() || names.size() == ports) return;
  throw ValueError("count_mismatch", option,
                   fmt::format("must have a name for each of {} tensors, got "
                               "{}",
                               ports, names.size()));
}

void add_metadata(tflite::FileBuilder& file, const TfliteOptions& options) {
  if (!options.classes.empty()) {
    const Config::List list(options.classes.begin(), options.classes.end());
    file.add_metadata("classes", to_json(Config(list)));
  }
  if (!options.preprocess.empty()) {
    file.add_metadata("preprocess", options.preprocess);
  }
  if (!options.resize.empty()) file.add_metadata("resize", options.resize);
}

}  // namespace

TfliteFile to_tflite(const Model& model, const TfliteOptions& options) {
  return with_context(
      [&] {
        return fmt::format("in the tflite export of model '{}'", model.name());
      },
      [&] {
        check_names("input_names", options.input_names, model.inputs().size());
        check_names("output_names", options.output_names,
                    model.outputs().size());
        check_class_names(model, options.classes);
        TfliteFile result;
        result.report.int8 = quant::is_quantized(model);
        const Model folded = quant::fold_batch_norm(model);
        tflite::FileBuilder file;
        tflite::add_model(
            result.report.int8 ? folded.clone() : quant::tflite_form(folded),
            options, file);
        add_metadata(file, options);
        result.bytes = file.finish(options.description);
        result.report.bytes = std::ssize(result.bytes);
        result.report.operators = file.operators();
        result.report.weights = file.constant_bytes();
        return result;
      });
}

TfliteReport export_tflite(const Model& model,
                           const std::filesystem::path& path,
                           const TfliteOptions& options) {
  check_file_name(path, "a TensorFlow Lite model", {".tflite"});
  const TfliteFile file = to_tflite(model, options);
  write_file(path, file.bytes);
  return file.report;
}

}  // namespace octet::io
