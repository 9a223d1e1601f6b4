#include <limits>
#include <sstream>

#include <gtest/gtest.h>

#include <octet/fmt.h>
#include <octet/octet.h>

#include "../support.h"

namespace octet::train {
namespace {

History two_epochs() {
  const auto epoch = [](double loss, double accuracy) {
    return EpochResult{
        .loss = loss,
        .accuracy = accuracy,
        .seconds = 1.25,
        .learning_rate = 1e-3,
        .validation = {{.loss = loss + 1,
                        .samples = 10,
                        .metrics = {{"accuracy", accuracy / 2}}}},
        .metrics = {{"accuracy", accuracy}}};
  };
  return {epoch(2, 0.5), epoch(1.5, 0.75)};
}

TEST(PrintHistory, HasARowPerEpoch) {
  EXPECT_EQ(to_string(two_epochs()),
            "epoch    loss  accuracy  val_loss  val_accuracy  learning_rate  "
            "seconds\n"
            "    1  2.0000    0.5000    3.0000        0.2500          0.001  "
            "    1.2\n"
            "    2  1.5000    0.7500    2.5000        0.3750          0.001  "
            "    1.2\n");
  EXPECT_EQ(to_string(History{}), "no epochs\n");
}

// The text of fmt is that of streams.
TEST(PrintHistory, IsFormattedByFmt) {
  const auto expect_same = [](const auto& value) {
    std::ostringstream out;
    out << value;
    EXPECT_EQ(fmt::format("{}", value), out.str());
    EXPECT_FALSE(out.str().empty());
  };
  expect_same(two_epochs());
  expect_same(Evaluation{.loss = 0.5, .accuracy = 0.5, .samples = 4});
  expect_same(DType::i8);
  expect_same(Shape{2, 3});
  expect_same(counting({2, 3}));
  expect_same(Variable(counting({2})));
  expect_same(QuantParams{.scale = Tensor::scalar(1)});
  const Model model = zoo::resnet8();
  expect_same(model);
  expect_same(model.outputs()[0]);
  const InferenceSession session(model);
  expect_same(session);
  expect_same(model.compile());
  const Model quantized = quant::quantize_model(model);
  expect_same(quant::plan_of(quantized));
  expect_same(quant::count_pairs(quant::plan_of(quantized), quantized));
  EXPECT_EQ(fmt::format("{:>6}", Shape{2}), "   [2]");
}

}  // namespace
}  // namespace octet::train
