// Checks every op and block, on every instruction set, deferred and eager:
// forward results against a double-precision reference, gradients against
// central differences of the reference.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>

#include <gtest/gtest.h>

#include <octet/runtime/rng.h>
#include <octet/runtime/system.h>

#include "cases.h"

namespace octet {
namespace {

struct Setting {
  Isa isa;
  bool eager;
};

std::vector<Setting> settings() {
  std::vector<Setting> result;
  for (const Isa isa : supported_isas()) {
    result.push_back({isa, false});
    result.push_back({isa, true});
  }
  return result;
}

std::string text(const Setting& s) {
  return std::string(to_string(s.isa)) + (s.eager ? "_eager" : "");
}

class Applied {
 public:
  explicit Applied(const Setting& setting) : before_(active_isa()) {
    set_active_isa(setting.isa);
    if (setting.eager) eager_.emplace();
  }
  ~Applied() { set_active_isa(before_); }
  Applied(const Applied&) = delete;
  Applied& operator=(const Applied&) = delete;

 private:
  Isa before_;
  std::optional<EagerGuard> eager_;
};

double dot(const std::vector<double>& a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Relative to the largest value: float sums of k terms have an error of about
// sqrt(k) * 6e-8, and the largest case has k = 600.
constexpr double kForwardTolerance = 5e-6;
// Differences in double precision with h = 1e-5 have errors around 1e-10; the
// rest is float arithmetic through a few layers. Relative to the largest
// directional derivative possible with the gradient's length, at least 0.1: the
// gradient of a normalized single value is a difference of equal terms.
constexpr double kGradientTolerance = 2e-5;

// Reference results of a case: its value and, for each input, directions with
// the derivatives of <weights, y> along them.
struct Expected {
  struct Derivative {
    std::vector<double> direction;
    double value = 0;
  };
  std::vector<Tensor> inputs;
  reference::Array y;
  Tensor weights;
  std::vector<std::vector<Derivative>> derivatives;

  explicit Expected(const GradientCase& c);
};

// Each element of small inputs, a few elements of large ones, and a direction
// through all elements.
std::vector<std::vector<double>> directions(size_t size, Rng& rng) {
  std::vector<std::vector<double>> result;
  for (size_t i = 0; i < size; i += std::max<size_t>(1, size / 12)) {
    result.emplace_back(size, 0.0)[i] = 1;
  }
  std::vector<double>& all = result.emplace_back(size);
  for (double& d : all) d = rng.normal();
  return result;
}

std::vector<Tensor> random_inputs(const GradientCase& c, Rng& rng) {
  std::vector<Tensor> inputs;
  for (const Shape& shape : c.inputs) {
    rng.fill_normal(inputs.emplace_back(shape), 0, 1);
  }
  return inputs;
}

std::vector<reference::Array> arrays(const std::vector<Tensor>& inputs) {
  return {inputs.begin(), inputs.end()};
}

Expected::Expected(const GradientCase& c) : y(Shape{}) {
  Rng rng = Rng(42).child(c.name());
  inputs = random_inputs(c, rng);
  y = c.reference(arrays(inputs));
  weights = Tensor(y.shape);
  rng.fill_normal(weights, 0, 1);
  constexpr double h = 1e-5;
  for (size_t k = 0; k < inputs.size(); ++k) {
    std::vector<Derivative>& some = derivatives.emplace_back();
    for (auto& direction :
         directions(static_cast<size_t>(inputs[k].size()), rng)) {
      const auto value_at = [&](double step) {
        std::vector<reference::Array> at = arrays(inputs);
        for (size_t i = 0; i < direction.size(); ++i) {
          at[k].values[i] += step * direction[i];
        }
        return dot(c.reference(at).values, weights.f32());
      };
      const double value = (value_at(h) - value_at(-h)) / (2 * h);
      some.push_back({std::move(direction), value});
    }
  }
}

void expect_forward(const Variable& y, const reference::Array& expected) {
  ASSERT_EQ(y.shape(), expected.shape);
  double top = 0;
  double worst = 0;
  for (int64_t i = 0; i < expected.size(); ++i) {
    top = std::max(top, std::fabs(expected[i]));
    worst = std::max(worst, std::fabs(expected[i] -
                                      y.value().f32()[static_cast<size_t>(i)]));
  }
  EXPECT_LE(worst, kForwardTolerance * std::max(top, 1e-3)) << "forward";
}

void expect_gradient(const Tensor& gradient, const Shape& shape,
                     const std::vector<Expected::Derivative>& derivatives) {
  ASSERT_FALSE(gradient.empty());
  ASSERT_EQ(gradient.shape(), shape);
  double length = 0;
  for (const float g : gradient.f32()) length += double{g} * g;
  length = std::sqrt(length);
  for (const auto& [direction, value] : derivatives) {
    double size = 0;
    for (const double d : direction) size += d * d;
    EXPECT_NEAR(dot(direction, gradient.f32()), value,
                kGradientTolerance * std::max(length * std::sqrt(size), 0.1));
  }
}

class Gradient : public testing::TestWithParam<GradientCase> {};

TEST_P(Gradient, AgreesWithCentralDifferences) {
  const GradientCase& c = GetParam();
  const Expected expected(c);
  for (const Setting& setting : settings()) {
    SCOPED_TRACE(text(setting));
    const Applied applied(setting);
    std::vector<Variable> inputs;
    for (const Tensor& x : expected.inputs) inputs.emplace_back(x, true);
    const Variable y = c.compute(inputs);
    expect_forward(y, expected.y);
    const Tensor& weights = expected.weights;
    record("dot", {y}, Tensor::scalar(0), [weights](const Tensor& dy) {
      Tensor dx = weights.clone();
      for (float& v : dx.f32()) v *= dy.item();
      return std::vector{dx};
    }).backward();
    for (size_t k = 0; k < inputs.size(); ++k) {
      SCOPED_TRACE(testing::Message() << "input " << k);
      expect_gradient(inputs[k].grad(), inputs[k].shape(),
                      expected.derivatives[k]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, Gradient, testing::ValuesIn(gradient_cases()),
                         [](const auto& each) { return each.param.name(); });

/// Adds the functions that return a Variable, by lines that begin with their
/// type.
void add_functions(const std::filesystem::path& source,
                   std::set<std::string>& names) {
  constexpr std::string_view type = "Variable ";
  std::ifstream in(source);
  for (std::string line; std::getline(in, line);) {
    const size_t end = line.find('(');
    if (!line.starts_with(type) || end == line.npos) continue;
    // Operators: tests/runtime/operators_test.cpp.
    if (line.find("operator") != line.npos) continue;
    names.insert(line.substr(type.size(), end - type.size()));
  }
}

/// The functions declared in octet/runtime/ops/, without compositions of other
/// ops, which have the gradients of their parts.
std::set<std::string> declared_ops() {
  const std::filesystem::path runtime = OCTET_SOURCE_DIR "/runtime";
  std::set<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(
           runtime / "include/octet/runtime/ops")) {
    add_functions(file.path(), names);
  }
  std::set<std::string> compositions;
  add_functions(runtime / "ops/composite.cpp", compositions);
  add_functions(runtime / "ops/composite_layout.cpp", compositions);
  EXPECT_GT(compositions.size(), 10u);
  for (const std::string& name : compositions) names.erase(name);
  return names;
}

TEST(GradientSuite, HasACaseForEveryOp) {
  const std::set<std::string> declared = declared_ops();
  EXPECT_GT(declared.size(), 10u);
  std::set<std::string> covered{
      // Step functions: tests/runtime/fake_quantize_test.cpp,
      // tests/golden/layers.
      "fake_quantize", "ceil", "compare", "floor", "round", "sign"};
  for (const GradientCase& each : gradient_cases()) covered.insert(each.op);
  for (const std::string& op : declared) {
    EXPECT_TRUE(covered.contains(op)) << "no gradient case for " << op;
  }
}

TEST(GradientSuite, CountsItsCases) {
  std::printf("gradient cases: %zu\n",
              gradient_cases().size() * settings().size());
  EXPECT_GT(gradient_cases().size(), 60u);
}

}  // namespace
}  // namespace octet
