// Every op and block: forward against the reference in doubles, gradient
// against central differences of that reference, for every instruction set,
// deferred and eager.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include <gtest/gtest.h>

#include <octet/runtime/isa.h>
#include <octet/runtime/rng.h>

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

class Gradient
    : public testing::TestWithParam<std::tuple<GradientCase, Setting>> {
 protected:
  Gradient() : before_(active_isa()) {
    set_active_isa(std::get<1>(GetParam()).isa);
    if (std::get<1>(GetParam()).eager) eager_.emplace();
  }
  ~Gradient() override { set_active_isa(before_); }

 private:
  Isa before_;
  std::optional<EagerGuard> eager_;
};

double dot(const std::vector<double>& a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Relative to the largest value: float sums over k terms err by about
// sqrt(k) * 6e-8 of it, and the largest case has k = 600.
constexpr double kForwardTolerance = 5e-6;
// Differences in doubles with h = 1e-5 err by 1e-10 or so; what is left is
// float arithmetic through a few layers. Relative to the largest directional
// derivative that the gradient's length allows, at least 0.1: the gradient of a
// normalized single value is a difference of equal terms.
constexpr double kGradientTolerance = 2e-5;

TEST_P(Gradient, AgreesWithCentralDifferences) {
  const GradientCase& c = std::get<0>(GetParam());
  Rng rng = Rng(42).child(c.name());
  std::vector<Variable> inputs;
  std::vector<reference::Array> arrays;
  for (const Shape& shape : c.inputs) {
    Tensor t(shape);
    rng.fill_normal(t, 0, 1);
    inputs.emplace_back(t, true);
    arrays.emplace_back(t);
  }
  const Variable y = c.compute(inputs);
  const reference::Array expected = c.reference(arrays);
  ASSERT_EQ(y.shape(), expected.shape);
  double top = 0;
  double worst = 0;
  for (int64_t i = 0; i < expected.size(); ++i) {
    top = std::max(top, std::fabs(expected[i]));
    worst = std::max(worst, std::fabs(expected[i] -
                                      y.value().f32()[static_cast<size_t>(i)]));
  }
  EXPECT_LE(worst, kForwardTolerance * std::max(top, 1e-3)) << "forward";

  // loss = <weights, y>
  Tensor weights(y.shape());
  rng.fill_normal(weights, 0, 1);
  const Variable loss =
      record("dot", {y}, Tensor::scalar(0), [weights](const Tensor& dy) {
        Tensor dx = weights.clone();
        for (float& v : dx.f32()) v *= dy.item();
        return std::vector{dx};
      });
  loss.backward();
  const auto value = [&](const std::vector<reference::Array>& at) {
    return dot(c.reference(at).values, weights.f32());
  };
  for (size_t k = 0; k < inputs.size(); ++k) {
    const Tensor& gradient = inputs[k].grad();
    ASSERT_FALSE(gradient.empty()) << "input " << k;
    ASSERT_EQ(gradient.shape(), inputs[k].shape());
    double length = 0;
    for (const float g : gradient.f32()) length += double{g} * g;
    length = std::sqrt(length);
    const auto check = [&](const std::vector<double>& direction) {
      constexpr double h = 1e-5;
      std::vector<reference::Array> up = arrays;
      std::vector<reference::Array> down = arrays;
      double size = 0;
      for (size_t i = 0; i < direction.size(); ++i) {
        up[k].values[i] += h * direction[i];
        down[k].values[i] -= h * direction[i];
        size += direction[i] * direction[i];
      }
      const double numeric = (value(up) - value(down)) / (2 * h);
      EXPECT_NEAR(dot(direction, gradient.f32()), numeric,
                  kGradientTolerance * std::max(length * std::sqrt(size), 0.1))
          << "input " << k;
    };
    // Each element of small inputs, a few of large ones, and one direction
    // through all of them.
    const size_t size = static_cast<size_t>(gradient.size());
    for (size_t i = 0; i < size; i += std::max<size_t>(1, size / 12)) {
      std::vector<double> unit(size, 0.0);
      unit[i] = 1;
      check(unit);
    }
    std::vector<double> direction(size);
    for (double& d : direction) d = rng.normal();
    check(direction);
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, Gradient,
                         testing::Combine(testing::ValuesIn(gradient_cases()),
                                          testing::ValuesIn(settings())),
                         [](const auto& each) {
                           return std::get<0>(each.param).name() + "_" +
                                  text(std::get<1>(each.param));
                         });

/// The functions that runtime/ops/*.h declare.
std::set<std::string> declared_ops() {
  std::set<std::string> names;
  const std::regex declaration(R"(^Variable (\w+)\()");
  for (const auto& file : std::filesystem::directory_iterator(
           OCTET_SOURCE_DIR "/runtime/include/octet/runtime/ops")) {
    std::ifstream in(file.path());
    for (std::string line; std::getline(in, line);) {
      std::smatch match;
      if (std::regex_search(line, match, declaration)) names.insert(match[1]);
    }
  }
  return names;
}

TEST(GradientSuite, HasACaseForEveryOp) {
  const std::set<std::string> declared = declared_ops();
  EXPECT_GT(declared.size(), 10u);
  std::set<std::string> covered{
      "fake_quantize"};  // a step: tests/runtime/fake_quantize_test.cpp
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
