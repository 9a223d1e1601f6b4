// Import and export of a graph, with the inputs and outputs of the file.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>

#include "../temp_folder.h"
#include "onnx_models.h"

namespace octet::io {

inline OnnxImport import_of(const std::string& graph,
                            const TempFolder& folder) {
  save(model_of(graph), folder / "m.onnx");
  return import_onnx(folder / "m.onnx");
}

/// "x float32[5]" for each input and output.
inline std::vector<std::string> ports_of(const OnnxSummary& summary) {
  std::vector<std::string> ports;
  for (const auto* list : {&summary.inputs, &summary.outputs}) {
    for (const OnnxTensorInfo& port : *list) {
      ports.push_back(
          fmt::format("{} {}{}", port.name, port.type, to_string(port.shape)));
    }
  }
  return ports;
}

inline void expect_close(const Tensor& y, const Tensor& expected) {
  ASSERT_EQ(y.shape(), expected.shape());
  ASSERT_EQ(y.dtype(), expected.dtype());
  if (y.dtype() == DType::i64) {
    const auto values = expected.data<int64_t>();
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(y.data<int64_t>()[i], values[i]) << i;
    }
    return;
  }
  for (size_t i = 0; i < y.f32().size(); ++i) {
    EXPECT_NEAR(y.f32()[i], expected.f32()[i], 1e-6f) << i;
  }
}

/// Exports the import of m.onnx to out.onnx: it has the same inputs and
/// outputs, and computes the same.
inline void expect_round_trip(const OnnxImport& read, const TempFolder& folder,
                              const std::vector<Tensor>& x) {
  export_onnx(read.model, folder / "out.onnx", {.interface = read.interface});
  EXPECT_EQ(ports_of(inspect_onnx(folder / "out.onnx")),
            ports_of(inspect_onnx(folder / "m.onnx")));
  const auto expected = load_onnx_reference(folder / "m.onnx").predict(x);
  const auto got = load_onnx_reference(folder / "out.onnx").predict(x);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    expect_close(got[i], expected[i]);
  }
}

}  // namespace octet::io
