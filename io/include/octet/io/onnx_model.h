// ONNX files that run: the standard's reference, node by node, and for a look
// at what an exported file computes where there is no other runtime.
//
//   const auto model = io::load_onnx_reference("int8.onnx");
//   const Tensor y = model.predict(x);  // x in the graph's layout: [N,c,h,w]
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <octet/io/file_limits.h>
#include <octet/io/onnx.h>
#include <octet/runtime/tensor.h>

namespace octet::io {

/// A graph of standard operators, opsets 1 to 26, that computes what the ONNX
/// operator specification says, in the order of the file's nodes; nothing is
/// fused or folded. float16 and bfloat16 are held as float32, in inputs and
/// outputs too, and rounded where a node makes them. Sums of float32 are
/// float32 in convolutions and matrix products and float64 in statistics; the
/// same for any number of threads. Copies share the graph; predict() may be
/// called from several threads at once. io/README.md lists the operators.
class OnnxModel {
 public:
  /// In the file's order, without initializers that are listed as inputs.
  const std::vector<OnnxTensorInfo>& inputs() const;
  const std::vector<OnnxTensorInfo>& outputs() const;

  /// One tensor for each input, of the type and shape that inputs() gives;
  /// a dimension of the same name is the same everywhere. Returns the outputs.
  /// Throws: ValueError for another number of tensors or another type;
  /// ShapeError naming the input, what it expects and what it got;
  /// FormatError naming the node where sizes that only show now do not fit, or
  /// a value would take more than 2 GiB, or all of them at a time more than
  /// `memory_limit`, or the run more than `time_limit`; UnsupportedError for
  /// what of an operator is left out (images of three axes, training of
  /// Dropout).
  std::vector<Tensor> predict(std::span<const Tensor> inputs) const;
  /// Of a model with one input and one output. Throws: the same; ValueError for
  /// other models.
  Tensor predict(const Tensor& input) const;

 private:
  friend OnnxModel onnx_from_bytes(const std::string& bytes,
                                   const FileLimits& limits);
  friend OnnxModel load_onnx_reference(const std::filesystem::path& path,
                                       const FileLimits& limits);
  struct Graph;
  explicit OnnxModel(std::shared_ptr<const Graph> graph);
  std::shared_ptr<const Graph> graph_;
};

/// Whether a file's contents are those of a model, sound or not. False for a
/// file that cannot be read.
bool is_onnx_file(const std::filesystem::path& path);

/// Reads and checks a file, as inspect_onnx() does, with data in other files of
/// its folder, of which there may be as much as values. The limits hold for
/// each predict(): the bytes of the values that its nodes make, and its time,
/// for which the clock is looked at in long operators and between others.
/// Throws: IoError; FormatError; UnsupportedError listing all operators, with a
/// node of each, and all element types that Octet does not run; ValueError for
/// limits out of range.
OnnxModel load_onnx_reference(const std::filesystem::path& path,
                              const FileLimits& limits = {});
/// The same for a file's contents, such as OnnxFile::bytes, without other
/// files.
OnnxModel onnx_from_bytes(const std::string& bytes,
                          const FileLimits& limits = {});

}  // namespace octet::io
