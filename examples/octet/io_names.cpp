#include "io_names.h"

#include <set>
#include <string>
#include <vector>

#include <octet/io/model_file.h>
#include <octet/layers/detail/model_data.h>
#include <octet/quant/wrapper.h>

#include "data_options.h"

namespace octet::program {
namespace {

/// Names inputs and outputs after their layers, as Keras does, if the names are
/// unique.
void set_layer_names(const Model& model, io::OnnxExportOptions& options) {
  const std::vector<std::string> inputs = input_names(model);
  const std::vector<std::string> outputs = quant::output_names(model);
  std::set<std::string> all(inputs.begin(), inputs.end());
  all.insert(outputs.begin(), outputs.end());
  if (all.size() != inputs.size() + outputs.size()) return;
  options.input_names = inputs;
  options.output_names = outputs;
}

}  // namespace

io::OnnxInterface interface_of(const ModelSource& source) {
  if (source.what.starts_with("zoo:")) return {};
  if (is_onnx(source.what)) return source.interfaces->at(source.what);
  return io::is_octet_file(source.what)
             ? io::onnx_interface(source.what, source.limits())
             : io::OnnxInterface();
}

io::OnnxExportOptions names_of(const ModelSource& source, const Model& model) {
  io::OnnxExportOptions options;
  if (source.what.starts_with("zoo:")) return options;
  options.interface = interface_of(source);
  if (!options.interface.fits(model)) options.interface = {};
  if (options.interface.empty() && !is_onnx(source.what)) {
    set_layer_names(model, options);
  }
  options.preprocess = io::trained_preprocess(source.what, source.limits());
  options.resize = trained_resize(source);
  options.classes = io::class_names(source.what, source.limits());
  if (model.outputs()[0].shape()[-1] != std::ssize(options.classes)) {
    options.classes.clear();
  }
  return options;
}

}  // namespace octet::program
