// Allocations of sessions of imported models, float and quantized.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <octet/io/keras.h>
#include <octet/io/onnx.h>
#include <octet/layers/layers.h>
#include <octet/quant/quant.h>
#include <octet/runtime/error.h>

#include "../session_allocations.h"
#include "../testdata.h"
#include "onnx_models.h"
#include "support.h"

namespace octet::io {
namespace {

#ifndef OCTET_SANITIZED

void expect_no_allocations_float_and_quantized(const Model& model) {
  expect_no_allocations(model);
  std::optional<Model> quantized;
  try {
    quantized = quant::quantize_model(model);
  } catch (const ValueError&) {
    return;  // no layers that can be quantized
  }
  Model& int8 = *quantized;
  (void)quant::calibrate(int8, [&](const Model& m) {
    std::vector<Tensor> x;
    for (const SymbolicTensor& input : m.inputs()) {
      x.push_back(noise(input.shape().with(0, 2)));
    }
    (void)m.predict(x);
  });
  expect_no_allocations(int8);
}

TEST(ImportedSessionMemory, IsAllocatedAtConstructionForKerasFiles) {
  for (const std::string name :
       {"pretrainedResnet.h5", "kws_ref_model_converted.h5"}) {
    const auto file = testdata("models/" + name);
    if (!std::filesystem::exists(file)) {
      GTEST_SKIP() << file << ": no shared test data";
    }
    SCOPED_TRACE(name);
    expect_no_allocations_float_and_quantized(load_keras(file));
  }
}

TEST(ImportedSessionMemory, IsAllocatedAtConstructionForOnnxFiles) {
  const auto file = testdata("models/efficientnet_lite0.onnx");
  if (!std::filesystem::exists(file)) {
    GTEST_SKIP() << file << ": no shared test data";
  }
  expect_no_allocations_float_and_quantized(import_onnx(file).model);
}

TEST(ImportedSessionMemory, IsAllocatedAtConstructionForNodeTests) {
  const auto folder = testdata("onnx_node_tests");
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << folder << ": no shared test data";
  }
  int imported = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto file = entry.path() / "model.onnx";
    if (!std::filesystem::exists(file)) continue;
    SCOPED_TRACE(entry.path().filename());
    std::optional<Model> model;
    try {
      model = import_onnx(file).model;
      (void)InferenceSession(*model);
    } catch (const Error&) {
      continue;  // not a network on batches
    }
    ++imported;
    expect_no_allocations(*model);
  }
  EXPECT_GT(imported, 20);
}

TEST(ImportedSessionMemory, IsAllocatedAtConstructionForGraphs) {
  for (const std::string nodes : {
           // Attention with a mask that is a constant.
           "s = MatMul (x, w)\nt = Transpose <perm = [0, 2, 1]> (x)\n"
           "p = MatMul (s, t)\nq = Softmax <axis = -1> (p)\ny = MatMul (q, x)",
           "m = ReduceMean <axes = [2], keepdims = 1> (x)\nd = Sub (x, m)\n"
           "v = Mul (d, d)\ny = Concat <axis = 1> (v, d, x)",
           "a = Slice (x, from, to, axis)\nb = Relu (a)\n"
           "y = Concat <axis = -1> (a, b, x)",
           "a = MatMul (x, w)\nb = Sigmoid (a)\nc = Mul (a, b)\nd = Tanh (c)\n"
           "y = Add (d, row)",
       }) {
    SCOPED_TRACE(nodes);
    onnx::ModelProto file = graph_model(
        "(float[N,7,3] x) => (float[N,A,B] y)",
        "w = Constant <value = float[3,3] {1, 2, 3, -1, 2, 1, 0, 1, 2}> ()\n"
        "row = Constant <value = float[7,1] {1, 2, 3, 4, 5, 6, 7}> ()\n"
        "from = Constant <value = int64[1] {1}> ()\n"
        "to = Constant <value = int64[1] {3}> ()\n"
        "axis = Constant <value = int64[1] {2}> ()\n" +
            nodes);
    const TempFolder folder;
    save(file, folder / "m.onnx");
    expect_no_allocations_float_and_quantized(
        import_onnx(folder / "m.onnx").model);
  }
}

#endif

}  // namespace
}  // namespace octet::io
