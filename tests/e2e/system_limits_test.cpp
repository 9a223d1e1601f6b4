// System limits on file size and memory.
#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
#include <octet/octet.h>

#include "octet_command.h"

namespace octet {
namespace {

CommandResult limited(const std::string& limit, const std::string& arguments) {
  return run_command(fmt::format("(ulimit {}; {} {})", limit,
                                 quoted(OCTET_BIN "/octet"), arguments));
}

TEST(SystemLimits, OnFileSizeAreReportedWithTheFile) {
  const TempFolder folder;
  const std::string file = quoted(folder / "lenet.onnx");
  const CommandResult r = limited("-f 8", "convert zoo:lenet " + file);
  EXPECT_EQ(r.exit_code, 1) << r.output;
  EXPECT_EQ(r.failure,
            (Failure{"size_limit", (folder / "lenet.onnx").string()}));
  EXPECT_TRUE(folder.empty());
  const CommandResult page =
      limited("-f 1", fmt::format("report zoo:lenet {} --data {} --seconds 0",
                                  quoted(folder / "r.html"), "/dev/null"));
  EXPECT_EQ(page.exit_code, 1) << page.output;
}

// Sanitizers reserve terabytes of address space.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(SystemLimits, OnMemoryAreReportedWithTheFileAndItsSize) {
  const TempFolder folder;
  io::write_npy(folder / "x.npy", Tensor::zeros({1, 28, 28, 1}));
  const auto predict = [&](const char* limit) {
    return limited(
        limit, fmt::format("predict zoo:lenet --input {} -o {}",
                           quoted(folder / "x.npy"), quoted(folder / "y.npy")));
  };
  EXPECT_EQ(predict("-v 1500000").exit_code, 0);
  std::filesystem::resize_file(folder / "x.npy", int64_t{1800} << 20);
  const CommandResult r = predict("-v 1500000");
  EXPECT_EQ(r.exit_code, 1) << r.output;
  EXPECT_EQ(r.failure, (Failure{"memory_limit", (folder / "x.npy").string()}));
}
#endif

}  // namespace
}  // namespace octet
