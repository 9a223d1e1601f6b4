// GraphBuilder: writes layers to an onnx::GraphProto. Names are unique: a
// requested name that is taken gets "_1", "_2", ...; the value of node "conv1"
// is "conv1/output". Layers describe nodes in the form of opset 13; the builder
// converts them to the graph's opset.
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

#include <octet/layers/custom_layer.h>
#include <octet/runtime/quantization.h>
#include <octet/runtime/tensor.h>

#include "deferred_initializers.h"
#include "onnx/graph/opsets.h"
#include "unique_names.h"

namespace octet::io {

class GraphBuilder final : public OnnxBuilder {
 public:
  /// Appends to `graph`, which must be empty and outlive the builder. A dynamic
  /// batch dimension gets the size `batch`; 0 keeps it dynamic. If `large` is
  /// not null, it receives the large weights.
  explicit GraphBuilder(onnx::GraphProto& graph, int opset = kFirstOpsetWritten,
                        int64_t batch = 0, LargeConstants* large = nullptr)
      : graph_(graph), opset_(opset), batch_(batch), large_(large) {}

  /// Reserves a name for the node that requests it: "_1", "_2", ... of other
  /// nodes will not collide with it.
  void keep_node_name(const std::string& name) { kept_.insert(name); }
  /// Reserves a value name for add_input() and add_output().
  /// Throws: ValueError if it is taken.
  void reserve(const std::string& value);
  /// Reserves a free name similar to `value` and returns it.
  std::string reserve_like(const std::string& value);
  /// Name of a dynamic batch dimension.
  void set_batch_name(std::string name) { batch_name_ = std::move(name); }
  /// Adds an input under a reserved name; `shape` is the file's, with
  /// Shape::kAnySize for the batch.
  void add_input(const std::string& name, const Shape& shape,
                 int32_t type = onnx::TensorProto::FLOAT);
  /// Records that `floats` is `input`, a graph input of integers, converted to
  /// float32. A Cast of `floats` to int64 is then `input`.
  void note_integers(const std::string& floats, const std::string& input) {
    integers_.emplace(floats, input);
  }
  /// Removes conversions of integer inputs that no node consumes.
  void remove_unused_casts();
  /// Makes `value` a graph output under a reserved name. Renames the producer's
  /// output; adds an Identity for graph inputs and for values that are outputs
  /// already. Later nodes must not consume `value`.
  void add_output(const std::string& value, const std::string& name,
                  const Shape& shape, int32_t type = onnx::TensorProto::FLOAT);

  /// Throws: InternalError for an input that is no value of the graph.
  std::string add_node(std::string_view op_type, std::string_view name,
                       const std::vector<std::string>& inputs,
                       const Attributes& attributes = {}) override;
  /// Returns the existing initializer for an equal name and contents, as of a
  /// shared layer. Throws: ValueError for NaN or infinity; UnsupportedError for
  /// other types or from 2 GiB on.
  std::string add_initializer(std::string_view name,
                              const Tensor& value) override;
  std::string add_initializer(std::string_view name, const Tensor& value,
                              const Arrangement& stored) override;
  /// Inserts a Clip before the pair if the quantized range is narrower than the
  /// element type; constants are in range already.
  /// Throws: ValueError for missing parameters, a scale that is not finite and
  /// positive, a range without an element type, or an opset without the type;
  /// ShapeError for scales that do not fit
  /// the value.
  std::string add_qdq(const std::string& value, std::string_view name,
                      const QuantParams& qparams) override;
  std::string add_repeated(std::string_view name, const std::string& constant,
                           int rank, const std::string& x) override;
  std::string one_sample(const std::string& value) const override;

  int64_t qdq_pairs() const { return qdq_pairs_; }

 private:
  void set_type(onnx::TypeProto& type, const Shape& shape,
                int32_t element_type) const;
  std::string unique_value(const std::string& name);
  std::string unique_node(const std::string& name);
  /// Type and dimensions of a constant; counts its bytes.
  onnx::TensorProto header_of(const std::string& name, const Tensor& value,
                              const Shape& shape);
  std::string put(const std::string& name, onnx::TensorProto tensor);
  std::string put_once(const std::string& name, onnx::TensorProto tensor,
                       int64_t bytes);
  std::string add_zero_point(const std::string& name,
                             const QuantParams& qparams);
  /// Adds a node with a reserved output name.
  void put_node(std::string_view op_type, std::string_view name,
                const std::vector<std::string>& inputs,
                const Attributes& attributes, const std::string& output);
  /// Adds the nodes of a value of add_repeated() at its first use.
  void repeat(const std::string& value);
  std::string clip_to(const std::string& value, const std::string& name,
                      const QuantParams& qparams);

  onnx::GraphProto& graph_;
  int opset_;
  int64_t batch_;
  std::string batch_name_ = "N";
  LargeConstants* large_;
  UniqueNames node_names_, values_;
  std::unordered_set<std::string> kept_;
  // By requested name: indices of its initializers.
  std::unordered_map<std::string, std::vector<int>> initializers_;
  // By value name: index of the initializer.
  std::unordered_map<std::string, int> constants_;
  std::map<std::string, std::string> qdq_outputs_;
  std::map<std::string, std::string> dequantized_;  // DQ output: parameters
  struct Repeated {
    std::string name;
    std::string constant;
    int rank;
    std::string x;
    bool made = false;
  };
  std::unordered_map<std::string, Repeated> repeated_;  // by value name
  // By value name: the graph output that renamed it.
  std::unordered_map<std::string, std::string> outputs_;
  std::unordered_map<std::string, std::string> integers_;  // by value name
  int64_t initializer_bytes_ = 0;
  int64_t qdq_pairs_ = 0;
};

}  // namespace octet::io
