// The interface of an ONNX file: names, element types and axis order of its
// inputs and outputs. A Model has float32 tensors with channels last, so the
// interface accompanies it from import to export:
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
  std::string name = "";  ///< empty: the default name
  /// Element type in the file, see is_port_type(). The model computes in
  /// float32; the file contains the conversion.
  std::string type = "float32";
  /// Axis of the file's tensor for each axis of the model's: {0,2,3,1} for
  /// images [n,c,h,w]. Axis 0 is the batch dimension of both. Empty: the
  /// default order, channels first.
  std::vector<int> axes = {};
  /// Whether the file's tensor has the batch dimension. Otherwise it is a
  /// single sample, for which `axes` includes the batch nevertheless. The batch
  /// size of a file with such an input is 1; such an output is the same for all
  /// samples.
  bool batched = true;

  bool operator==(const OnnxPort&) const = default;
};

struct OnnxInterface {
  std::vector<OnnxPort> inputs = {};
  std::vector<OnnxPort> outputs = {};
  int64_t batch = 0;             ///< batch size fixed by the file; 0: dynamic
  std::string batch_name = "N";  ///< name of a dynamic batch dimension

  bool empty() const { return inputs.empty() && outputs.empty(); }
  /// Whether the numbers and ranks of inputs and outputs match the model's. An
  /// empty list of inputs or outputs fits any model.
  bool fits(const Model& model) const;

  bool operator==(const OnnxInterface&) const = default;
};

/// Whether inputs and outputs may have an element type: float32, float16,
/// bfloat16, float64, bool, and integers that float32 represents or rounds as
/// Cast does (uint8, int8, uint16, int16, int32, int64).
bool is_port_type(std::string_view type);

/// Returns the axes of a channels-first tensor, as in ONNX: {0,2,3,1} for rank
/// 4, {0,2,1} for rank 3; the identity for other ranks.
std::vector<int> channels_first_axes(int rank);
/// Returns the identity, {0,1,2,...}.
std::vector<int> channels_last_axes(int rank);

/// Returns the interface of an ONNX file, or the ONNX interface stored in a
/// file of save_model(). Empty for other files. Imports an ONNX file as a
/// whole: prefer OnnxImport::interface if the model is needed as well.
/// Throws: as import_onnx() and load_model().
OnnxInterface onnx_interface(const std::filesystem::path& path,
                             const FileLimits& limits = {});

}  // namespace octet::io
