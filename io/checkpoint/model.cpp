// Models and training states in files.
#include <string>
#include <utility>

#include <fmt/format.h>

#include <octet/io/image.h>
#include <octet/io/model_file.h>
#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/layers/detail/load_limits.h>
#include <octet/layers/layer.h>
#include <octet/quant/plan.h>
#include <octet/runtime/detail/file_name.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>
#include <octet/session/detail/session_file.h>

#include "checksum.h"
#include "class_names.h"
#include "file.h"
#include "file_errors.h"
#include "file_kind.h"
#include "limit_checks.h"

namespace octet::io {
namespace {

quant::ModelState read_model(const std::filesystem::path& path,
                             const FileLimits& limits) {
  return model_in(read_file_as(kOctetFile, path, kLargestFile), path.string(),
                  limits);
}

std::string frame_of(const std::filesystem::path& path) {
  return fmt::format("in file '{}'", path.string());
}

/// Builds a model; layers may not allocate more weights than the file has.
Model build(quant::ModelState state) {
  int64_t elements = 0;
  for (const quant::NamedWeight& weight : state.weights) {
    elements += weight.value.size();
  }
  // apply() creates each layer again.
  const ParameterLimit limit(elements * (state.plan.is_null() ? 1 : 2));
  return quant::model_from_state(std::move(state));
}

SaveModelOptions options_of(const std::filesystem::path& path,
                            const FileLimits& limits) {
  return options_in(read_file_as(kOctetFile, path, kLargestFile), path.string(),
                    limits);
}

}  // namespace

void save_model(const Model& model, const std::filesystem::path& path,
                const SaveModelOptions& options) {
  check_file_name(path, "an Octet model", {".h5", ".hdf5", ".octet"});
  check_class_names(model, options.classes);
  if (!options.preprocess.empty()) (void)preprocess_mode(options.preprocess);
  if (!options.resize.empty()) (void)resize_mode(options.resize);
  if (!options.interface.empty() && !options.interface.fits(model)) {
    throw ValueError("invalid_value", "ONNX interface",
                     "inputs and outputs differ from those of the model");
  }
  write_file(path, path.extension() == ".octet"
                       ? session::session_file_bytes(model, to_config(options))
                       : file_of(quant::state_of(model), options));
}

std::vector<std::string> class_names(const std::filesystem::path& path,
                                     const FileLimits& limits) {
  if (is_octet_file(path)) {
    return options_of(path, limits).classes;
  }
  return is_onnx_file(path) ? inspect_onnx(path).classes
                            : std::vector<std::string>();
}

std::string trained_preprocess(const std::filesystem::path& path,
                               const FileLimits& limits) {
  if (is_octet_file(path)) return options_of(path, limits).preprocess;
  return is_onnx_file(path) ? inspect_onnx(path).preprocess : "";
}

OnnxInterface onnx_interface(const std::filesystem::path& path,
                             const FileLimits& limits) {
  if (is_octet_file(path)) return options_of(path, limits).interface;
  return is_onnx_file(path) ? import_onnx(path, {.limits = limits}).interface : OnnxInterface();
}

std::string trained_resize(const std::filesystem::path& path,
                           const FileLimits& limits) {
  if (is_octet_file(path)) return options_of(path, limits).resize;
  return is_onnx_file(path) ? inspect_onnx(path).resize : "";
}

bool is_octet_file(const std::filesystem::path& path) {
  if (session::is_session_file(path)) return true;
  const auto bytes = static_cast<int64_t>(kChecksumBytes);
  return has_checksum(read_part(path, -bytes, bytes));
}

Model load_model(const std::filesystem::path& path, const FileLimits& limits) {
  quant::ModelState state = read_model(path, limits);
  return in_file([&] { return frame_of(path); },
                 [&] {
                   Model model = build(std::move(state));
                   check_activations(model, limits);
                   return model;
                 });
}

void load_weights(Model& model, const std::filesystem::path& path,
                  const FileLimits& limits) {
  const quant::ModelState state = read_model(path, limits);
  with_context([&] { return frame_of(path); },
               [&] { quant::assign_weights(model, state.weights); });
}

void save_checkpoint(const train::TrainingState& state,
                     const std::filesystem::path& path) {
  check_file_name(path, "an HDF5 checkpoint", {".h5", ".hdf5"});
  write_file(path, file_of(state));
}

train::TrainingState load_checkpoint(const std::filesystem::path& path,
                                     const FileLimits& limits) {
  return state_in(read_file_as(kOctetFile, path, kLargestFile), path.string(),
                  limits);
}

}  // namespace octet::io
