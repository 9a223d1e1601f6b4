// Files before and after the passes of import. Judges: the reference
// implementation, which runs the file's own nodes, and equivalent files;
// tests/oracle/compare_import.py compares the same forms with ONNX Runtime.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/layers/layers.h>

#include "onnx_models.h"
#include "support.h"

namespace octet::io {

inline Tensor uniform_values(const Shape& shape) {
  Tensor x{shape};
  Rng(11).fill_uniform(x, -1, 1);
  return x;
}

/// Returns the outputs of the layers for `x`, both in the file's axis order.
/// All sizes differ, so that the shape tells.
inline Tensor layer_outputs(const onnx::ModelProto& model, const Tensor& x,
                            const Shape& expected) {
  const Model read = from_onnx(model.SerializeAsString());
  if (x.shape().rank() != 4) return read.predict(x);
  const Tensor y = read.predict(x.transposed({0, 2, 3, 1}));
  return y.shape() == expected || y.shape().rank() != 4
             ? y
             : y.transposed({0, 3, 1, 2});
}

inline Tensor node_outputs(const onnx::ModelProto& model, const Tensor& x) {
  return onnx_reference_from_bytes(model.SerializeAsString()).predict(x);
}

/// Expects the layers of `model` to compute `expected`.
inline void expect_layers(const onnx::ModelProto& model, const Tensor& x,
                          const Tensor& expected) {
  io::expect_equal(layer_outputs(model, x, expected.shape()), expected);
}

/// A model of an opset with the weight w [4,3,3,3].
inline onnx::ModelProto conv_file(const std::string& nodes,
                                  int64_t opset = 13) {
  onnx::ModelProto model =
      graph_model("(float[N,3,8,9] x) => (float[] y)", nodes);
  model.mutable_graph()
      ->mutable_output(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->clear_shape();
  model.mutable_opset_import(0)->set_version(opset);
  add_noise(model, "w", {4, 3, 3, 3});
  return model;
}

inline void expect_as_run(const std::string& nodes, int64_t opset = 13) {
  SCOPED_TRACE(nodes);
  const onnx::ModelProto model = conv_file(nodes, opset);
  const Tensor x = uniform_values({2, 3, 8, 9});
  expect_layers(model, x, node_outputs(model, x));
}

/// Expects the layers of `nodes` to have the outputs of the nodes `plain`.
inline void expect_same(const std::string& nodes, const std::string& plain,
                        int64_t opset = 13, int64_t opset_of_plain = 13) {
  SCOPED_TRACE(nodes);
  const Tensor x = uniform_values({2, 3, 8, 9});
  expect_layers(conv_file(nodes, opset), x,
                node_outputs(conv_file(plain, opset_of_plain), x));
}

}  // namespace octet::io
