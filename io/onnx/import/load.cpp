#include <exception>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "channel_scales.h"
#include "file_kind.h"
#include "foreign_errors.h"
#include "importer.h"
#include "inputs.h"
#include "layer_names.h"
#include "limit_checks.h"
#include "onnx/check/check.h"
#include "onnx/normalize/fold.h"
#include "onnx/normalize/passes.h"
#include "pattern.h"
#include "quantizers.h"
#include "refused_nodes.h"

namespace octet::io {
namespace {

/// REQUIRES: the model has been checked.
OnnxImport import_model(onnx::ModelProto model,
                        const OnnxImportOptions& options, bool one_sample) {
  OnnxGraph graph(std::move(model), options.limits);
  graph.set_one_sample(one_sample);
  if (!one_sample) {
    graph.set_batch_axes(importing::inputs_with_steps_first(graph));
  }
  graph.begin_import();
  importing::normalize_graph(graph);
  if (!options.drop_quantizers) importing::share_channel_scales(graph);
  importing::drop_unused_inputs(graph);
  const bool quantized = importing::has_pairs(graph);
  importing::find_quantizers(graph, options.drop_quantizers);
  importing::fold_constants(graph);  // of dequantized weights
  (void)importing::recompose(graph);
  if (quantized) importing::leave_out_prefixes(graph);
  return importing::Importer(graph, options).run();
}

/// Imports the model that `load()` returns. If the first axes of its inputs
/// have fixed sizes but cannot be a batch, because nodes combine entries, the
/// inputs are one sample.
template <class Load>
OnnxImport import_batch_or_sample(const Load& load,
                                  const OnnxImportOptions& options) {
  std::exception_ptr refusal;
  try {
    return import_model(load(), options, false);
  } catch (const UnsupportedError&) {
    refusal = std::current_exception();
  }
  try {
    OnnxImport result = import_model(load(), options, true);
    warn("one_sample", "ONNX model",
         "nodes combine entries of the first axis: the model has no batch "
         "axis, its inputs are one sample");
    return result;
  } catch (const Error&) {
    std::rethrow_exception(refusal);
  }
}

/// Returns `import()`. If nodes cannot be imported but load() succeeds, adds a
/// hint to the error.
template <class Import, class Load>
OnnxImport with_run_hint(const Import& import, const Load& load) {
  try {
    return import();
  } catch (const importing::RefusedNodes& refused) {
    std::string text(refused.text());
    try {
      (void)load();
      text +=
          "\nHint: io::load_onnx_reference and octet predict run such graphs "
          "node by node";
    } catch (const Error&) {
      // The graph cannot be run either: no hint.
    }
    Error error(ErrorKind::unsupported, refused.code(), refused.subject(),
                text);
    for (const std::string& frame : refused.context()) error.add_context(frame);
    throw UnsupportedError(error);
  }
}

OnnxImport import_bytes(const std::string& bytes,
                        const OnnxImportOptions& options) {
  check_limits(options.limits);
  return without_foreign_errors("ONNX model", [&] {
    const auto load = [&] {
      onnx::ModelProto model = parse_onnx(bytes);
      check_onnx(model);
      return model;
    };
    return with_run_hint(
        [&] { return import_batch_or_sample(load, options); },
        [&] { return onnx_reference_from_bytes(bytes, options.limits); });
  });
}

}  // namespace

OnnxImport import_onnx(const std::filesystem::path& path,
                       const OnnxImportOptions& options) {
  check_limits(options.limits);
  return without_foreign_errors("ONNX model", [&] {
    onnx::ModelProto model = read_onnx(path, options.limits.memory_limit);
    bool read = true;
    const auto load = [&] {
      return std::exchange(read, false)
                 ? std::move(model)
                 : read_onnx(path, options.limits.memory_limit);
    };
    return with_context(
        [&] { return fmt::format("in file '{}'", path.string()); },
        [&] {
          return with_run_hint(
              [&] { return import_batch_or_sample(load, options); },
              [&] { return load_onnx_reference(path, options.limits); });
        });
  });
}

Model load_onnx(const std::filesystem::path& path,
                const OnnxImportOptions& options) {
  return import_onnx(path, options).model;
}

Model from_onnx(const std::string& bytes, const OnnxImportOptions& options) {
  return import_bytes(bytes, options).model;
}

}  // namespace octet::io
