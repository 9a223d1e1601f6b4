// ONNX files that run: the standard's reference, node by node, and for a look
// at what an exported file computes where there is no other runtime.
//
//   const auto model = io::load_onnx("int8.onnx");
//   const Tensor y = model.predict(x);  // x in the graph's layout: [N,c,h,w]
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <octet/io/onnx.h>
#include <octet/runtime/tensor.h>

namespace octet::io {

/// A graph of standard operators, opsets 1 to 17, that computes what
/// the ONNX operator specification says, in float32 and in the order of the
/// file's nodes; nothing is fused or folded. Copies share the graph;
/// predict() may be called from several threads at once.
class OnnxModel {
 public:
  /// In the file's order, without initializers that are listed as inputs.
  const std::vector<OnnxTensorInfo>& inputs() const;
  const std::vector<OnnxTensorInfo>& outputs() const;

  /// One tensor for each input, of the type and shape that inputs() gives;
  /// a dimension of the same name is the same everywhere. Returns the outputs.
  /// Throws: ValueError for another number of tensors or another type;
  /// ShapeError naming the input, what it expects and what it got;
  /// FormatError naming the node where sizes that only show now do not fit.
  std::vector<Tensor> predict(std::span<const Tensor> inputs) const;
  /// Of a model with one input and one output. Throws: the same; ValueError for
  /// other models.
  Tensor predict(const Tensor& input) const;

 private:
  friend OnnxModel load_onnx(const std::filesystem::path& path);
  friend OnnxModel onnx_from_bytes(const std::string& bytes);
  struct Graph;
  explicit OnnxModel(std::shared_ptr<const Graph> graph);
  std::shared_ptr<const Graph> graph_;
};

/// Reads and checks a file, as inspect_onnx() does. Throws: IoError;
/// FormatError; UnsupportedError listing all operators, with a node of each,
/// and element types that Octet does not run.
OnnxModel load_onnx(const std::filesystem::path& path);
/// The same for a file's contents, such as OnnxFile::bytes.
OnnxModel onnx_from_bytes(const std::string& bytes);

}  // namespace octet::io
