// Conformance tests of the ONNX project: one or a few nodes each, with inputs
// and expected outputs. OCTET_ONNX_NODE_TESTS=FOLDER runs another folder's
// tests and skips unsupported ones (tests/oracle/count_conformance.py).
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <octet/io/onnx_reference.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "../testdata.h"
#include "onnx/reference/constants.h"
#include "support.h"

namespace octet::io {
namespace {

// Tolerances of ONNX' own runner: the expected values are NumPy's.
constexpr float kRelative = 1e-3f;
constexpr float kAbsolute = 1e-7f;
// Several nodes round one after another: two steps of the type.
constexpr float kHalf = 0x1p-9f;
constexpr float kBfloat = 0x1p-6f;

const char* other_folder() { return std::getenv("OCTET_ONNX_NODE_TESTS"); }

std::filesystem::path folder() {
  return other_folder() != nullptr ? std::filesystem::path(other_folder())
                                   : testdata("onnx_node_tests");
}

// Sorted; one empty name if there is no test data.
std::vector<std::string> names() {
  if (!std::filesystem::exists(folder())) return {""};
  std::vector<std::string> result;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    if (entry.is_directory()) result.push_back(entry.path().filename());
  }
  std::ranges::sort(result);
  return result;
}

// NAME_0.pb, NAME_1.pb, ...
std::vector<onnx::TensorProto> protos(const std::filesystem::path& data,
                                      const std::string& name) {
  std::vector<onnx::TensorProto> result;
  for (int i = 0;; ++i) {
    const auto path = data / fmt::format("{}_{}.pb", name, i);
    if (!std::filesystem::exists(path)) return result;
    EXPECT_TRUE(result.emplace_back().ParseFromString(read_file(path))) << path;
  }
}

// float64 as float32, like read_npy().
Tensor tensor_of(const onnx::TensorProto& proto) {
  if (proto.data_type() != onnx::TensorProto::DOUBLE) {
    return run::constant(proto);
  }
  Tensor x{Shape(
      std::span(proto.dims().data(), static_cast<size_t>(proto.dims_size())))};
  for (int64_t i = 0; i < x.size(); ++i) {
    double value = 0;
    std::memcpy(&value, proto.raw_data().data() + 8 * i, 8);
    x.f32()[static_cast<size_t>(i)] = static_cast<float>(value);
  }
  return x;
}

std::vector<Tensor> inputs(const std::filesystem::path& data) {
  std::vector<Tensor> result;
  for (const auto& proto : protos(data, "input")) {
    result.push_back(tensor_of(proto));
  }
  return result;
}

float tolerance(const onnx::TensorProto& expected) {
  switch (expected.data_type()) {
    case onnx::TensorProto::FLOAT16:
      return kHalf;
    case onnx::TensorProto::BFLOAT16:
      return kBfloat;
    default:
      return kRelative;
  }
}

void expect_equal(const Tensor& y, const onnx::TensorProto& proto) {
  const Tensor expected = tensor_of(proto);
  const float relative = tolerance(proto);
  ASSERT_EQ(y.shape(), expected.shape());
  ASSERT_EQ(y.dtype(), expected.dtype());
  if (y.dtype() != DType::f32) {
    const auto* a = static_cast<const char*>(y.raw());
    const auto* b = static_cast<const char*>(expected.raw());
    EXPECT_TRUE(std::equal(a, a + y.bytes(), b));
    return;
  }
  for (size_t i = 0; i < y.f32().size(); ++i) {
    const float a = y.f32()[i], b = expected.f32()[i];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    ASSERT_LE(std::fabs(a - b), kAbsolute + relative * std::fabs(b))
        << "at " << i << ": " << a << " for " << b;
  }
}

class OnnxNode : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam().empty()) {
      GTEST_SKIP() << testdata() << ": expected the shared test data";
    }
  }
};

void expect_outputs(const std::string& name) {
  const OnnxReference model =
      load_onnx_reference(folder() / name / "model.onnx");
  const auto data = folder() / name / "test_data_set_0";
  const auto expected = protos(data, "output");
  const std::vector<Tensor> outputs = model.predict(inputs(data));
  ASSERT_EQ(outputs.size(), expected.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    SCOPED_TRACE(model.outputs()[i].name);
    expect_equal(outputs[i], expected[i]);
  }
}

TEST_P(OnnxNode, FollowsTheSpecification) {
  if (other_folder() != nullptr) {
    try {
      expect_outputs(GetParam());
    } catch (const UnsupportedError& error) {
      GTEST_SKIP() << error.what();
    }
    return;
  }
  expect_outputs(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Conformance, OnnxNode, ::testing::ValuesIn(names()),
                         [](const auto& test) {
                           return test.param.empty() ? std::string("absent")
                                                     : test.param;
                         });

TEST(OnnxNodes, AreComplete) {
  if (!std::filesystem::exists(folder()) || other_folder() != nullptr) {
    GTEST_SKIP() << testdata() << ": expected the shared test data";
  }
  EXPECT_EQ(names().size(), 263u);
}

}  // namespace
}  // namespace octet::io
