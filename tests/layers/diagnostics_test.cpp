// Traces and checks of OCTET_TRACE and OCTET_CHECK_NAN.
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <octet/layers/inference_session.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/system.h>

#include "../temp_folder.h"
#include "support.h"

namespace octet {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Created before main(): reads the environment variables.
const Tensor kStatic = Tensor::scalar(1);

// Restores the settings at the end of a test.
class Diagnostics : public testing::Test {
 protected:
  void TearDown() override { set_diagnostics({}); }

  template <class Body>
  static std::string stderr_of(const Body& body) {
    testing::internal::CaptureStderr();
    body();
    return testing::internal::GetCapturedStderr();
  }
};

Model network() {
  const SymbolicTensor x = input({6, 5, 3}, "image");
  const SymbolicTensor y = Activation("relu", {.name = "gate"})(
      Conv2D({.filters = 4, .kernel_size = 3, .name = "stem"})(x));
  return {x, Dense({.units = 2, .name = "head"})(Flatten({.name = "flat"})(y))};
}

void train_once(Model& model, const Tensor& x) {
  mean(square(model(Variable(x), Mode::training))).backward();
}

TEST_F(Diagnostics, AreReadByStaticTensors) {
  EXPECT_EQ(kStatic.item(), 1);
  EXPECT_EQ(diagnostics().trace, "");
}

TEST_F(Diagnostics, RefuseUnknownTraces) {
  const Failure failure =
      failure_of<ValueError>([] { set_diagnostics({.trace = "ops,memory"}); });
  EXPECT_EQ(failure, (Failure{"unknown_name", "OCTET_TRACE"}));
  EXPECT_THAT(failure.message,
              HasSubstr("ops, program, alloc, import, passes"));
  EXPECT_FALSE(traces(TraceKind::ops));
  EXPECT_EQ(failure_of<IoError>([] {
              set_diagnostics({.trace_file = "/no/such/folder/trace.json"});
            }).code,
            "cannot_write");
}

TEST_F(Diagnostics, TraceOpsWithTheirLayers) {
  Model model = network();
  const Tensor x = noise({2, 6, 5, 3});
  set_diagnostics({.trace = "ops"});
  const std::string text = stderr_of([&] { train_once(model, x); });
  EXPECT_THAT(text, HasSubstr("op conv2d 'stem' [2,4,3,4] "));
  EXPECT_THAT(text, HasSubstr("op relu 'gate' [2,4,3,4] "));
  EXPECT_THAT(text, HasSubstr("op dense 'head' [2,2] "));
  EXPECT_THAT(text, HasSubstr("gradient conv2d 'stem' [2,4,3,4] "));
  EXPECT_LT(text.find("op dense"), text.find("gradient dense"));
  const InferenceSession session(model);
  EXPECT_THAT(stderr_of([&] { (void)session.run(x); }),
              AllOf(HasSubstr("step conv2d 'stem' ["),
                    HasSubstr("step dense 'head' ["), Not(HasSubstr("op "))));
  set_diagnostics({});
  EXPECT_THAT(stderr_of([&] { train_once(model, x); }), IsEmpty());
}

TEST_F(Diagnostics, TraceBuffers) {
  set_diagnostics({.trace = "alloc"});
  const std::string text = stderr_of([] { (void)Tensor({1000}); });
  EXPECT_THAT(text, AllOf(HasSubstr("alloc 8192 bytes, 8192 in use\n"),
                          HasSubstr("free 8192 bytes, 0 in use\n")));
}

TEST_F(Diagnostics, WriteChromeTraces) {
  const TempFolder folder;
  const std::string path = folder / "trace.json";
  Model model = network();
  set_diagnostics({.trace = "ops,alloc", .trace_file = path});
  const std::string text = stderr_of([&] {
    train_once(model, noise({2, 6, 5, 3}));
  });
  set_diagnostics({});
  EXPECT_THAT(text, IsEmpty());
  std::ifstream in(path);
  const nlohmann::json events = nlohmann::json::parse(in);
  ASSERT_TRUE(events.is_array());
  int layers = 0, gradients = 0, buffers = 0;
  for (const auto& event : events) {
    EXPECT_EQ(event["pid"], 1);
    EXPECT_GT(event["ts"].get<double>(), 0);
    if (event["ph"] == "C") {
      ++buffers;
      continue;
    }
    EXPECT_EQ(event["ph"], "X");
    EXPECT_GE(event["dur"].get<double>(), 0);
    layers += event["cat"] == "layer" ? 1 : 0;
    gradients += event["cat"] == "gradient" ? 1 : 0;
    if (event["name"] == "conv2d") {
      EXPECT_EQ(event["args"]["layer"], "stem");
      EXPECT_EQ(event["args"]["shape"], "[2,4,3,4]");
    }
  }
  EXPECT_EQ(layers, 4);
  EXPECT_GT(gradients, 3);
  EXPECT_GT(buffers, 3);
}

TEST_F(Diagnostics, KeepTheBitsOfAModel) {
  Model model = network(), checked = model.clone();
  const Tensor x = noise({3, 6, 5, 3});
  const auto gradients = [&](Model& m) {
    train_once(m, x);
    std::vector<std::vector<uint32_t>> all{bits(m.predict(x))};
    for (const Parameter& p : m.parameters()) {
      all.push_back(bits(p.variable.grad()));
    }
    return all;
  };
  const auto expected = gradients(model);
  set_diagnostics({.check_nan = true});
  EXPECT_EQ(gradients(checked), expected);
}

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST_F(Diagnostics, NameTheFirstOpThatIsNotFinite) {
  set_diagnostics({.check_nan = true});
  const Variable x(Tensor::of<float>({2}, {-1, 4}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)(2 * sqrt(x)); }),
            (Failure{"not_finite", "sqrt"}));
  const Variable zero(Tensor::of<float>({2}, {0, 4}), true);
  const Failure gradient =
      failure_of<ValueError>([&] { sum(sqrt(zero)).backward(); });
  EXPECT_EQ(gradient,
            (Failure{"not_finite", "gradient of sqrt, for its input leaf"}));
  set_diagnostics({});
  EXPECT_NO_THROW((void)(2 * sqrt(x)));
}

TEST_F(Diagnostics, NameTheLayerThatIsNotFinite) {
  const SymbolicTensor x = input({4}, "x");
  const SymbolicTensor y = Activation(
      "exponential", {.name = "boom"})(Dense({.units = 3, .name = "head"})(x));
  Model model(x, y * 2);
  model.layer("head").parameters()[0].variable.assign(
      Tensor::full({4, 3}, 1e3f));
  const Tensor ones = Tensor::full({2, 4}, 1);
  const InferenceSession session(model);
  set_diagnostics({.check_nan = true});
  const Failure expected{"not_finite", "exponential of layer 'boom'"};
  EXPECT_EQ(failure_of<ValueError>([&] { (void)model(Variable(ones)); }),
            expected);
  EXPECT_EQ(failure_of<ValueError>([&] { train_once(model, ones); }), expected);
  const Failure run = failure_of<ValueError>([&] { (void)session.run(ones); });
  EXPECT_EQ(run.code, "not_finite");
  EXPECT_THAT(run.subject, HasSubstr("of layer '"));
  const Failure many = failure_of<ValueError>([&] {
    (void)model.predict(Tensor::full({40, 4}, 1));
  });
  EXPECT_EQ(many.code, "not_finite");
  EXPECT_THAT(many.subject, HasSubstr("of layer 'boom'"));
}

TEST_F(Diagnostics, NameInputsAndParametersThatAreNotFinite) {
  Model model = network();
  set_diagnostics({.check_nan = true});
  Tensor x = noise({1, 6, 5, 3});
  x.f32()[3] = kInf;
  const Failure input{"not_finite", "input 'image'"};
  EXPECT_EQ(failure_of<ValueError>([&] { (void)model(Variable(x)); }), input);
  EXPECT_EQ(failure_of<ValueError>([&] { (void)model.predict(x); }), input);
  model.layer("head").parameters()[1].variable.mutable_value()[1] = kInf;
  EXPECT_EQ(failure_of<ValueError>([&] {
              train_once(model, noise({1, 6, 5, 3}));
            }),
            (Failure{"not_finite", "bias of layer 'head'"}));
}

}  // namespace
}  // namespace octet
