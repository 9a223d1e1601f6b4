// The interface of an ONNX file: names, element types and axis order of its
// inputs and outputs. A Model has float32 tensors with the channels last, so
// the interface travels beside it from import to export:
//
//   io::OnnxImport read = io::import_onnx("in.onnx");
//   Model int8 = quant::quantize_model(read.model);
//   io::export_onnx(int8, "out.onnx", {.interface = read.interface});
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <octet/io/file_limits.h>
#include <octet/layers/model.h>

namespace octet::io {

/// An input or output of a file.
struct OnnxPort {
  std::string name = "";  ///< empty: as of a file without an interface
  /// Element type in the file, one of is_port_type(). The model computes with
  /// float32: the file converts.
  std::string type = "float32";
  /// Axis of the file's tensor for each axis of the model's: {0,2,3,1} for
  /// images [n,c,h,w]. Axis 0 is the batch dimension of both. Empty gives the
  /// order of a file without an interface.
  std::vector<int> axes = {};

  bool operator==(const OnnxPort&) const = default;
};

struct OnnxInterface {
  std::vector<OnnxPort> inputs = {};
  std::vector<OnnxPort> outputs = {};
  int64_t batch = 0;             ///< batch size fixed by the file; 0: dynamic
  std::string batch_name = "N";  ///< name of a dynamic batch dimension

  bool empty() const { return inputs.empty() && outputs.empty(); }
  /// Whether a model has these inputs and outputs: their numbers and ranks.
  /// Without any inputs, or outputs, those of a model are as without an
  /// interface.
  bool fits(const Model& model) const;

  bool operator==(const OnnxInterface&) const = default;
};

/// Whether inputs and outputs may have the element type: float32, bool, and
/// integers that float32 holds or rounds as Cast does (uint8, int8, uint16,
/// int16, int32, int64).
bool is_port_type(std::string_view type);

/// Channels first, as ONNX has them: {0,2,3,1} for rank 4, {0,2,1} for 3; other
/// ranks have no such order and keep theirs.
std::vector<int> channels_first_axes(int rank);
/// The model's own order, {0,1,2,...}.
std::vector<int> channels_last_axes(int rank);

/// The interface of an ONNX file, or of the one that a model in a file of
/// save_model() came from; empty for other files. ONNX files are imported to
/// find it: prefer OnnxImport::interface where the model is needed as well.
/// Throws: as import_onnx() and load_model().
OnnxInterface onnx_interface(const std::filesystem::path& path,
                             const FileLimits& limits = {});

}  // namespace octet::io
