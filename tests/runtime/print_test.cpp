#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/program.h>

#include "../support.h"

namespace octet {
namespace {

template <class T>
std::string printed(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

// A case of tests/golden/print/tensors.txt.
struct PrintCase {
  std::string dtype, shape, values, text;
};

std::vector<PrintCase> print_cases() {
  std::ifstream in(std::filesystem::path(OCTET_SOURCE_DIR) /
                   "tests/golden/print/tensors.txt");
  std::vector<PrintCase> cases;
  std::string line;
  while (std::getline(in, line)) {
    if (line.starts_with("#")) continue;
    if (line.starts_with("case ")) {
      std::istringstream words(line.substr(5));
      PrintCase& next = cases.emplace_back();
      words >> next.dtype >> next.shape;
      std::getline(in, next.values);
    } else {
      std::string& text = cases.back().text;
      text += (text.empty() ? "" : "\n") + line.substr(1);
    }
  }
  return cases;
}

Shape shape_from(const std::string& text) {
  std::vector<int64_t> dims;
  std::istringstream in(text.substr(1, text.size() - 2));
  for (std::string dim; std::getline(in, dim, ',');) {
    dims.push_back(std::stoll(dim));
  }
  return Shape(std::span<const int64_t>(dims));
}

template <class T>
Tensor tensor_from(const PrintCase& c) {
  Tensor result(shape_from(c.shape), DTypeOf<T>::value);
  std::istringstream in(c.values);
  std::string word;
  const auto number = [&] {
    in >> word;
    if constexpr (std::is_same_v<T, float>) {
      return std::strtof(word.c_str(), nullptr);
    } else {
      return static_cast<T>(std::strtoll(word.c_str(), nullptr, 10));
    }
  };
  const bool counts = c.values.starts_with("counting ");
  if (counts) in >> word;
  const float step = counts ? std::strtof(c.values.c_str() + 9, nullptr) : 0;
  float next = 0;
  for (T& v : result.data<T>()) {
    v = counts ? static_cast<T>(next++ * step) : number();
  }
  return result;
}

Tensor tensor_of(const PrintCase& c) {
  if (c.dtype == "i8") return tensor_from<int8_t>(c);
  if (c.dtype == "u8") return tensor_from<uint8_t>(c);
  if (c.dtype == "i32") return tensor_from<int32_t>(c);
  if (c.dtype == "i64") return tensor_from<int64_t>(c);
  if (c.dtype == "bool") return tensor_from<bool>(c);
  return tensor_from<float>(c);
}

TEST(Print, FormatsTensorsAsNumPy) {
  const std::vector<PrintCase> cases = print_cases();
  ASSERT_GT(cases.size(), 50u);
  for (const PrintCase& c : cases) {
    const Tensor x = tensor_of(c);
    std::string expected = c.text;
    if (x.size() == 0 || x.size() > 1000) expected += ", shape=" + c.shape;
    if (c.dtype != "f32") expected += ", dtype=" + c.dtype;
    EXPECT_EQ(printed(x), expected) << c.dtype << " " << c.shape;
  }
}

TEST(Print, AppliesOptionsOfTensors) {
  const Tensor x = counting({10}) / 7;
  EXPECT_EQ(to_string(x, {.precision = 2, .threshold = 5, .edge_items = 2}),
            "[0.   0.14 ... 1.14 1.29], shape=[10]");
  EXPECT_EQ(to_string(counting({5}), {.line_width = 8}),
            "[0. 1.\n 2. 3.\n 4.]");
  EXPECT_EQ(to_string(Tensor()), "empty tensor");
  const Failure failure =
      failure_of<ValueError>([&] { (void)to_string(x, {.edge_items = 0}); });
  EXPECT_EQ(failure, (Failure{"out_of_range", "PrintOptions"}));
}

TEST(Print, StatesTheOriginOfVariables) {
  const Variable leaf(Tensor::of<float>({2}, {-1, 2}), true);
  EXPECT_EQ(printed(leaf), "[-1.  2.], requires_grad");
  EXPECT_EQ(printed(relu(leaf)), "[0. 2.], op=relu");
  EXPECT_EQ(printed(Variable(Tensor::scalar(3))), "3.0");
  EXPECT_EQ(printed(Variable()), "empty variable");
}

TEST(Print, FormatsShapesTypesAndQuantParams) {
  EXPECT_EQ(printed(Shape{Shape::kAnySize, 28, 28, 1}), "[N,28,28,1]");
  EXPECT_EQ(printed(DType::boolean), "bool");
  EXPECT_EQ(printed(QuantParams{.scale = Tensor::scalar(0.5f)}),
            "scale 0.5, range [-128,127]");
  EXPECT_EQ(printed(QuantParams{.scale = Tensor::of<float>({2}, {0.5f, 1}),
                                .axis = 3,
                                .low = 0,
                                .high = 255}),
            "scales of axis 3 [0.5 1. ], range [0,255]");
}

}  // namespace
}  // namespace octet
