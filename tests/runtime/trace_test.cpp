// Traces of functions, and the passes that compile them.

#include <octet/runtime/system.h>

#include "programs.h"
#include "runtime/inference/passes.h"

namespace octet::programs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> ops_of(const inference::Trace& trace) {
  std::vector<std::string> ops;
  for (const inference::TraceNode& node : trace.nodes()) ops.push_back(node.op);
  return ops;
}

inference::Trace traced(const Net& net, const Shape& sample) {
  const NoGradGuard no_grad;
  inference::Trace trace;
  const Variable x = trace.input(sample);
  const Program::Function run = [net](std::span<const Variable> in) {
    return net(in[0]);
  };
  const Variable y = trace.call("net", {&x, 1}, run, [&] { return run; });
  trace.outputs.push_back(y.id());
  return trace;
}

TEST(Trace, AppendsANodePerOp) {
  const Net net = [](const Variable& x) {
    return relu(bias_add(conv2d(x, weight({1, 1, 3, 4})), weight({4})));
  };
  inference::Trace trace = traced(net, {1, 5, 5, 3});
  EXPECT_THAT(ops_of(trace),
              ElementsAre("input", "conv2d", "bias_add", "relu"));
  EXPECT_EQ(trace.to_string(),
            "  %0 = input() [1,5,5,3]\n"
            "  %1 = conv2d(%0) [1,5,5,4]  'net'\n"
            "  %2 = bias_add(%1) [1,5,5,4]  'net'\n"
            "  %3 = relu(%1) [1,5,5,4]  'net'\n");
  inference::remove_dead(trace);
  EXPECT_THAT(ops_of(trace), ElementsAre("input", "conv2d", "relu"));
}

TEST(Trace, FoldsWhatDependsOnNoInput) {
  const NoGradGuard no_grad;
  inference::Trace trace;
  const Variable x = trace.input({1, 4});
  const auto append = [&](const Variable& in, const Net& net) {
    const Program::Function run = [net](std::span<const Variable> v) {
      return net(v[0]);
    };
    return trace.call("layer", {&in, 1}, run, [&] { return run; });
  };
  const Variable c = append(x, [](const Variable& v) {
    return broadcast_to(weight({4}), v.shape());
  });
  const Variable d = append(c, [](const Variable& v) { return relu(v); });
  const Variable y =
      append(x, [&](const Variable& v) { return multiply(v, d); });
  EXPECT_THAT(ops_of(trace),
              ElementsAre("input", "constant", "constant", "multiply"));
  EXPECT_EQ(bits(d.value()), bits(relu(weight({1, 4})).value()));
}

// Constants broadcast to every sample, also in the chunks of several threads.
TEST(Trace, SelectsBetweenConstants) {
  for (int constants = 0; constants < 7; ++constants) {
    for (const Shape& shape : {Shape{1, 5, 3}, Shape{1, 1, 3}, Shape{3}}) {
      SCOPED_TRACE(fmt::format("{} {}", constants, shape.to_string()));
      const Net net = [&](const Variable& x) {
        const auto operand = [&](int bit, float scale) {
          return (constants & bit) != 0
                     ? weight(shape)
                     : multiply(x, Variable(Tensor::scalar(scale)));
        };
        const Variable condition = compare(Comparison::greater, operand(1, 1),
                                           Variable(Tensor::scalar(0.1f)));
        return where(condition, operand(2, 0.5f), operand(4, -2));
      };
      const Program program = capture(net, {1, 5, 3});
      const Tensor x = noise({21, 5, 3});
      const NoGradGuard no_grad;
      const Tensor expected = net(Variable(x)).value();
      ASSERT_EQ(expected.shape(), x.shape());
      Tensor y(x.shape());
      ASSERT_TRUE(program.run({&x, 1}, {&y, 1}));
      EXPECT_EQ(bits(y), bits(expected));
    }
  }
}

TEST(Trace, MultipliesConstants) {
  expect_same(
      [](const Variable& x) {
        return matmul(x, weight({1, 3, 4}));
      },
      {1, 5, 3}, 0);
  expect_same(
      [](const Variable& x) {
        return matmul(weight({1, 2, 5}), x);
      },
      {1, 5, 3}, 0);
  expect_same(
      [](const Variable& x) {
        return divide(weight({1, 1, 3}), x);
      },
      {1, 5, 3}, 0);
}

// Names stay valid although the memory of a Variable is reused.
TEST(Trace, IdentifiesValuesByVariable) {
  const Net net = [](const Variable& x) {
    Variable y = relu(conv2d(x, weight({1, 1, 3, 3})));
    for (int i = 0; i < 20; ++i) y = relu(conv2d(y, weight({1, 1, 3, 3})), 6);
    return add(y, x);
  };
  const Program program = capture(net, {1, 64, 64, 3});
  const Tensor x = noise({3, 64, 64, 3});
  Tensor y(x.shape());
  ASSERT_TRUE(program.run({&x, 1}, {&y, 1}));
  const NoGradGuard no_grad;
  EXPECT_EQ(bits(y), bits(net(Variable(x)).value()));
}

TEST(Trace, RefusesFunctionsThatInspectValues) {
  const Net look = [](const Variable& x) {
    return x.value().f32()[0] > 0 ? relu(x) : x;
  };
  const Failure failure = failure_of<UnsupportedError>([&] {
    (void)traced(look, {1, 4});
  });
  EXPECT_EQ(failure, (Failure{"unsupported_layer", "'net'"}));
}

TEST(Trace, PrintsTheProgramAfterEachPass) {
  set_diagnostics({.trace = "program"});
  testing::internal::CaptureStderr();
  const Program program = capture(
      [](const Variable& x) {
        return relu(dense(x, weight({4, 3})));
      },
      {1, 4});
  const std::string text = testing::internal::GetCapturedStderr();
  set_diagnostics({});
  EXPECT_THAT(text, HasSubstr("program 'dead code':\n  %0 = input() [1,4]\n"));
  EXPECT_THAT(text, HasSubstr("program 'fusion':\n"));
  EXPECT_THAT(text, HasSubstr("program 'memory':\n" + program.to_string()));
  EXPECT_THAT(program.to_string(),
              HasSubstr("dense(f32 4) -> f32 3; scale, clip  'net'\n"));
  EXPECT_THAT(program.to_string(), Not(HasSubstr("relu")));
}

}  // namespace
}  // namespace octet::programs
