// TensorBoard reads the event files.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/tensorboard.h>

#include "command.h"

namespace octet {
namespace {

using ::testing::HasSubstr;

TEST(TensorBoard, ReadsScalarsAndHistogramsOfTwoRuns) {
  const TempFolder folder;
  {
    io::TensorBoardWriter writer(folder.path());
    writer.scalar("loss", 0.5, 0);
    writer.scalar("loss", 0.25, 1);
    writer.scalar("val/accuracy", 1.0, 1);
    writer.histogram("dense/kernel", Tensor::of<float>({3}, {-1, -1, 2}), 1);
    writer.histogram("dense/bias", Tensor::zeros({4}), 1);
  }
  {
    io::TensorBoardWriter writer(folder.path());
    writer.scalar("loss", 0.125, 2);
  }
  const CommandResult result = run_venv_script("read_events.py", folder.path());
  if (result.exit_code == 77) GTEST_SKIP() << result.output;
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("scalars loss 0 0.5\n"
                                       "scalars loss 1 0.25\n"
                                       "scalars loss 2 0.125\n"));
  EXPECT_THAT(result.output, HasSubstr("scalars val/accuracy 1 1.0\n"));
  // Left edge, right edge, and count of the first of 30 buckets.
  EXPECT_THAT(result.output, HasSubstr("histograms dense/kernel 1 "
                                       "[[-1.0, -0.8999999761581421, 2.0], "));
  EXPECT_THAT(result.output, HasSubstr(", 2.0, 1.0]]\n"));
  EXPECT_THAT(result.output,
              HasSubstr("histograms dense/bias 1 [[0.0, 0.0, 4.0]]\n"));
}

}  // namespace
}  // namespace octet
