// TensorBoard reads the event files.
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/tensorboard.h>

#include "command.h"

namespace octet {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::IsSupersetOf;
using ::testing::StartsWith;

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
  std::istringstream output(result.output);
  std::vector<std::string> lines;
  for (std::string line; std::getline(output, line);) lines.push_back(line);
  EXPECT_THAT(
      lines, IsSupersetOf({"scalars loss 0 0.5", "scalars loss 1 0.25",
                           "scalars loss 2 0.125", "scalars val/accuracy 1 1.0",
                           "histograms dense/bias 1 [[0.0, 0.0, 4.0]]"}));
  // Left edge, right edge, and count of the first and last of 30 buckets.
  EXPECT_THAT(lines,
              Contains(AllOf(StartsWith("histograms dense/kernel 1 "
                                        "[[-1.0, -0.8999999761581421, 2.0], "),
                             EndsWith(", 2.0, 1.0]]"))));
}

}  // namespace
}  // namespace octet
