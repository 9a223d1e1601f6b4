// Programs as plain data for code generators.
#include <gtest/gtest.h>

#include <octet/runtime/detail/portable_program.h>
#include <octet/runtime/ops.h>

#include "programs.h"

namespace octet::programs {
namespace {

using detail::PortableEvaluate;
using detail::PortableLinear;
using detail::PortableQuant;
using detail::ProgramRecorder;

Program compile_dense() {
  return capture(
      [](const Variable& x) {
        return relu(dense(x, weight({4, 3})));
      },
      {1, 4});
}

TEST(PortableProgram, IsRecordedWhileARecorderExists) {
  ProgramRecorder outer;
  EXPECT_EQ(detail::active_recorder(), &outer);
  {
    ProgramRecorder inner;
    (void)compile_dense();
    EXPECT_EQ(inner.program.steps.size(), 1u);
  }
  EXPECT_TRUE(outer.program.steps.empty());
  (void)compile_dense();
  EXPECT_EQ(outer.program.steps.size(), 1u);
}

TEST(PortableProgram, HasUnpackedWeightsAndEpilogues) {
  ProgramRecorder recorder;
  (void)compile_dense();
  const auto& step = recorder.program.steps.at(0);
  EXPECT_EQ(step.op, "dense");
  const auto& linear = std::get<PortableLinear>(step.what);
  EXPECT_EQ(linear.weights, values(weight({4, 3})));
  EXPECT_TRUE(linear.rescale.empty());
  EXPECT_EQ(linear.multiply_adds, 12);
  ASSERT_TRUE(linear.epilogue.clip.has_value());
  EXPECT_EQ(linear.epilogue.clip->first, 0);
  EXPECT_EQ(linear.epilogue.outputs.at(0).y, recorder.program.outputs.at(0));
}

TEST(PortableProgram, HasQuantizedValuesOfBothOperands) {
  ProgramRecorder recorder;
  (void)capture(
      [](const Variable& x) {
        QuantParams of_x, of_w;
        of_x.scale = Tensor::full({}, 0.5f);
        of_w.scale = Tensor::full({3}, 0.25f);
        of_w.axis = 1;
        return dense(fake_quantize(x, of_x),
                     fake_quantize(weight({4, 3}), of_w));
      },
      {1, 4});
  const auto& program = recorder.program;
  ASSERT_EQ(program.steps.size(), 2u);
  const auto& evaluate = std::get<PortableEvaluate>(program.steps[0].what);
  EXPECT_EQ(evaluate.x, program.inputs.at(0));
  const auto& linear = std::get<PortableLinear>(program.steps[1].what);
  EXPECT_EQ(linear.x, evaluate.epilogue.outputs.at(0).y);
  const auto& x = program.buffers.at(static_cast<size_t>(linear.x));
  EXPECT_EQ(x.quant, (PortableQuant{0.5f, -128, 127}));
  EXPECT_EQ(linear.rescale, (std::vector<float>{0.125f, 0.125f, 0.125f}));
  EXPECT_EQ(linear.weight_scales, (std::vector<float>{0.25f, 0.25f, 0.25f}));
  const std::vector<float> w = values(weight({4, 3}));
  for (size_t i = 0; i < w.size(); ++i) {
    EXPECT_EQ(linear.weights[i], quantize(w[i], 0.25f, -128, 127));
  }
}

}  // namespace
}  // namespace octet::programs
