#include <utility>

#include <fmt/format.h>

#include <octet/io/onnx_import.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "../attention_operator.h"
#include "../bounds.h"
#include "../check.h"
#include "file_kind.h"
#include "foreign_errors.h"
#include "forms.h"
#include "graph.h"
#include "importer.h"
#include "layer_names.h"
#include "limit_checks.h"
#include "qoperators.h"
#include "quantizers.h"

namespace octet::io {
namespace {

/// Of a model that is checked.
OnnxImport import_model(onnx::ModelProto model,
                        const OnnxImportOptions& options) {
  expand_attention(*model.mutable_graph(), opset_of(model));
  importing::expand_qoperators(*model.mutable_graph(), opset_of(model));
  importing::ImportGraph graph(std::move(model), options.limits);
  importing::fold_constants(graph);
  const bool quantized = importing::has_pairs(graph);
  importing::find_quantizers(graph, options.drop_quantizers);
  importing::fold_constants(graph);  // what depends on weights behind Q/DQ
  importing::recognise_forms(graph);
  if (quantized) importing::leave_out_prefixes(graph);
  return importing::Importer(graph, options).run();
}

OnnxImport import_bytes(const std::string& bytes,
                        const OnnxImportOptions& options) {
  check_limits(options.limits);
  return without_foreign_errors("ONNX model", [&] {
    onnx::ModelProto model = parse_onnx(bytes);
    check_onnx(model);
    return import_model(std::move(model), options);
  });
}

}  // namespace

OnnxImport import_onnx(const std::filesystem::path& path,
                       const OnnxImportOptions& options) {
  check_limits(options.limits);
  return without_foreign_errors("ONNX model", [&] {
    onnx::ModelProto model = read_onnx(path, options.limits.memory_limit);
    return with_context(
        [&] { return fmt::format("in file '{}'", path.string()); },
        [&] { return import_model(std::move(model), options); });
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
