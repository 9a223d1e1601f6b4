// FileBuilder: tensors, constants and operators of a .tflite file. Tensors are
// referred to by index.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <octet/runtime/tensor.h>

#include "tflite/schema/schema.h"
#include "unique_names.h"

namespace octet::io::tflite {

/// Quantization of an activation: x = scale * (q - zero_point), q int8 or
/// int16.
struct Quant {
  float scale = 1;     ///< finite and > 0
  int zero_point = 0;  ///< in [-128,127]; 0 for int16
  bool int16 = false;  ///< type of q

  int lowest() const { return int16 ? -32768 : -128; }
  int highest() const { return int16 ? 32767 : 127; }
  bool operator==(const Quant&) const = default;
};

/// A value of the graph.
struct Value {
  int tensor = -1;                  ///< index
  Shape shape;                      ///< batch included, Shape::kAnySize
  std::optional<Quant> quant = {};  ///< empty: float32
};

class FileBuilder {
 public:
  FileBuilder();

  /// Adds an activation: int8 or int16 with parameters, else float32.
  Value add_value(std::string_view name, const Shape& shape,
                  const std::optional<Quant>& quant);
  /// Adds a tensor of another type with the shape and parameters.
  int add_tensor(std::string_view name, const Shape& shape,
                 schema::TensorType type, const std::optional<Quant>& quant);
  /// Adds a constant: f32, i8 or i32 (as bytes). Equal contents share a buffer.
  /// scales: of quantized weights, one or one per slice of `axis`.
  int add_constant(std::string_view name, const Tensor& value,
                   std::span<const float> scales = {}, int axis = 0);
  int add_constant(std::string_view name, std::span<const int32_t> values,
                   std::span<const float> scales = {});
  /// Adds a bias of int64, for int16 activations.
  int add_constant(std::string_view name, std::span<const int64_t> values,
                   std::span<const float> scales);
  /// Adds a quantized scalar with the parameters.
  int add_scalar(std::string_view name, int value, const Quant& quant);

  /// Adds an operator with one of the schema's options, a union of them, or
  /// none. Operators on int16 values have a version of their own.
  /// Throws: UnsupportedError if the operator has no int16 form.
  template <class Options>
  void add_operator(schema::Op op, int version, std::vector<int> inputs,
                    std::vector<int> outputs, Options options) {
    schema::OperatorT& added =
        append(op, version, std::move(inputs), std::move(outputs));
    if constexpr (std::is_same_v<Options, schema::BuiltinOptionsUnion>) {
      added.builtin_options = std::move(options);
    } else {
      added.builtin_options.Set(std::move(options));
    }
  }
  void add_operator(schema::Op op, int version, std::vector<int> inputs,
                    std::vector<int> outputs) {
    (void)append(op, version, std::move(inputs), std::move(outputs));
  }

  void add_input(int tensor, std::string name);
  void add_output(int tensor, std::string name);
  void add_metadata(std::string name, std::string_view contents);

  int64_t operators() const { return std::ssize(graph().operators); }
  /// Number of bytes of constant tensors.
  int64_t constant_bytes() const { return constant_bytes_; }
  /// Removes operators without effect and returns the file's bytes.
  /// Throws: ValueError for over 2 GiB.
  std::string finish(std::string description);

 private:
  schema::OperatorT& append(schema::Op op, int version, std::vector<int> inputs,
                            std::vector<int> outputs);
  schema::SubGraphT& graph() { return *model_.subgraphs[0]; }
  const schema::SubGraphT& graph() const { return *model_.subgraphs[0]; }
  schema::TensorT& new_tensor(std::string_view name, schema::TensorType type);
  uint32_t buffer_of(std::string_view bytes);
  bool is_int16(int tensor) const;
  void drop_dead_operators();

  schema::ModelT model_;
  UniqueNames names_;
  std::map<std::string, uint32_t, std::less<>> buffers_;  // by contents
  int64_t constant_bytes_ = 0;
};

}  // namespace octet::io::tflite
