// GraphBuilder: what layers write themselves to, here an onnx::GraphProto.
// Names are unique: a node that asks for a taken name gets "_1", "_2", ...;
// the value of node "conv1" is "conv1/output". Nodes come as opset 13 has them
// and are written as the graph's opset does.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <onnx/onnx_pb.h>

#include <octet/layers/onnx_builder.h>
#include <octet/runtime/grid.h>
#include <octet/runtime/tensor.h>

#include "large_constants.h"
#include "opsets.h"
#include "transposes.h"
#include "unique_names.h"

namespace octet::io {

class GraphBuilder final : public OnnxBuilder {
 public:
  /// Appends to `graph`, which must be empty and outlive the builder.
  /// Inputs and outputs of any batch have `batch` samples, 0: as many as come.
  /// Large weights, where that is given, are left in `large`.
  explicit GraphBuilder(onnx::GraphProto& graph, int opset = kFirstOpsetWritten,
                        int64_t batch = 0, LargeConstants* large = nullptr)
      : graph_(graph), opset_(opset), batch_(batch), large_(large) {}

  /// Keeps a name for the node that asks for it: another one's "_1", "_2", ...
  /// will not be it.
  void keep_node_name(const std::string& name) { kept_.insert(name); }
  /// Keeps a value name free for add_input() and add_output().
  /// Throws: ValueError if it is taken.
  void reserve(const std::string& value);
  /// The same for a name like `value` that is free, and returns it.
  std::string reserve_like(const std::string& value);
  /// Name of a dynamic batch dimension.
  void set_batch_name(std::string name) { batch_name_ = std::move(name); }
  /// An input under a reserved name; `shape` is that of the file, with
  /// Shape::kAnySize for the batch.
  void add_input(const std::string& name, const Shape& shape,
                 int32_t type = onnx::TensorProto::FLOAT);
  /// Makes `value` a graph output under a reserved name. The node that makes
  /// it is changed to write that name; a graph input gets an Identity, and so
  /// does a value that is an output already. No node may read it later.
  void add_output(const std::string& value, const std::string& name,
                  const Shape& shape, int32_t type = onnx::TensorProto::FLOAT);

  /// A Transpose behind an input or in front of an output. Merges with others,
  /// layers too.
  std::string add_port_transpose(std::string_view name,
                                 const std::string& input,
                                 const std::vector<int64_t>& perm) {
    Transposes::Source source =
        transposes_.source_of(input, perm, Transposes::Merge::all);
    source.is_port = true;
    return add_transpose(name, std::move(source));
  }
  /// A Transpose of a Transpose is one of the first one's input, or that input,
  /// unless one of them is a layer, which has its name.
  /// Throws: InternalError for an input that is no value of the graph.
  std::string add_node(std::string_view op_type, std::string_view name,
                       const std::vector<std::string>& inputs,
                       const Attributes& attributes = {}) override;
  /// A name that comes again with the same contents, as in a shared layer, is
  /// the same initializer. Throws: ValueError for NaN or infinity;
  /// UnsupportedError for other types or from 2 GiB on.
  std::string add_initializer(std::string_view name,
                              const Tensor& value) override;
  std::string add_initializer(std::string_view name, const Tensor& value,
                              const Arrangement& stored) override;
  /// Where the grid is narrower than int8, activations are clipped to it
  /// first; constants are stored on the grid already.
  /// Throws: ValueError for an empty grid, a scale that is not finite and
  /// positive, or codes outside int8; ShapeError for one that does not fit.
  std::string add_qdq(const std::string& value, std::string_view name,
                      const Grid& grid) override;
  std::string add_repeated(std::string_view name, const std::string& constant,
                           int rank, const std::string& x) override;
  std::string one_sample(const std::string& value) const override;

  int64_t qdq_pairs() const { return qdq_pairs_; }

 private:
  void set_type(onnx::TypeProto& type, const Shape& shape,
                int32_t element_type) const;
  std::string unique_value(const std::string& name);
  std::string unique_node(const std::string& name);
  /// Type and dimensions of a constant, whose bytes count.
  onnx::TensorProto header_of(const std::string& name, const Tensor& value,
                              const Shape& shape);
  std::string put(const std::string& name, onnx::TensorProto tensor);
  /// A node whose output has that name, which is taken.
  void put_node(std::string_view op_type, std::string_view name,
                const std::vector<std::string>& inputs,
                const Attributes& attributes, const std::string& output);
  /// Adds the nodes of a value of add_repeated(), once.
  void repeat(const std::string& value);
  std::string add_transpose(std::string_view name, Transposes::Source source);
  std::string clip_to(const std::string& value, const std::string& name,
                      const Grid& grid);

  onnx::GraphProto& graph_;
  int opset_;
  int64_t batch_;
  std::string batch_name_ = "N";
  LargeConstants* large_;
  UniqueNames node_names_, values_;
  std::unordered_set<std::string> kept_;
  // By the name asked for: indices of the initializers that have it.
  std::unordered_map<std::string, std::vector<int>> initializers_;
  // By value name: index of the initializer.
  std::unordered_map<std::string, int> constants_;
  Transposes transposes_;
  std::map<std::string, std::string> qdq_outputs_;
  std::map<std::string, std::string> dequantized_;  // DQ outputs: their grids
  struct Repeated {
    std::string name;
    std::string constant;
    int rank;
    std::string x;
    bool made = false;
  };
  std::unordered_map<std::string, Repeated> repeated_;  // by value name
  // By value name: the output it has become.
  std::unordered_map<std::string, std::string> outputs_;
  int64_t initializer_bytes_ = 0;
  int64_t qdq_pairs_ = 0;
};

/// A value's shape as ONNX has it: NHWC becomes NCHW, others stay, unless their
/// channels come first.
Shape onnx_shape(const OnnxValue& value);

}  // namespace octet::io
