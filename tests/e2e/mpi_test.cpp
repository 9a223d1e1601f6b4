// Training on MPI ranks has the same results, bit for bit, as a single process
// with the same shards.
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/file.h>

#include "command.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kProgram = OCTET_BIN "/rank_run";
constexpr const char* kTrainZoo = OCTET_BIN "/train_zoo";

/// Returns an mpirun command line with a timeout of a minute: a hang ends with
/// code 124.
std::string mpirun(int ranks, const std::string& words) {
  return fmt::format(
      "timeout -k 5 60 mpirun --allow-run-as-root --oversubscribe "
      "--bind-to none -np {} {}",
      ranks, words);
}

/// Counts the occurrences of a text.
int count_of(const std::string& text, const std::string& all) {
  int count = 0;
  for (size_t at = all.find(text); at != std::string::npos;
       at = all.find(text, at + 1)) {
    ++count;
  }
  return count;
}

/// Makes each rank print its exit code. mpirun kills the other ranks when a
/// rank fails, perhaps before they report.
std::string with_code(const std::string& words) {
  return "sh -c " + quoted(fs::path(words + "; echo code $?"));
}

class Mpi : public testing::Test {
 protected:
  void SetUp() override {
    if (run_command("command -v mpirun").exit_code != 0) {
      GTEST_SKIP() << "mpirun is not installed";
    }
    if (!fs::exists(kProgram)) GTEST_SKIP() << "built without MPI";
#ifdef OCTET_SANITIZED
    ::setenv("ASAN_OPTIONS", "detect_leaks=0", 1);  // Open MPI leaks
#endif
  }

  std::string training(const std::string& network, const std::string& out,
                       const std::string& checkpoints,
                       const std::string& how) const {
    return fmt::format(
        "{} {} {} {} {}", kProgram, network, (folder_ / out).string(),
        checkpoints == "-" ? checkpoints : (folder_ / checkpoints).string(),
        how);
  }
  void run_one(const std::string& network) const {
    const CommandResult one = run_command(training(network, "one", "-", "one"));
    ASSERT_EQ(one.exit_code, 0) << one.output;
  }
  void expect_same(const std::string& out) const {
    for (const char* file : {"model.h5", "model.onnx", "history.txt"}) {
      EXPECT_TRUE(read_file(folder_ / "one" / file) ==
                  read_file(folder_ / out / file))
          << out << "/" << file;
    }
  }
  void expect_ranks_to_agree(const std::string& network,
                             const std::vector<int>& counts = {1, 2, 4}) const {
    run_one(network);
    for (const int ranks : counts) {
      const std::string out = fmt::format("{}", ranks);
      const CommandResult all =
          run_command(mpirun(ranks, training(network, out, "-", "mpi")));
      ASSERT_EQ(all.exit_code, 0) << all.output;
      expect_same(out);
    }
  }

  TempFolder folder_;
};

class SlowMpi : public Mpi {};

TEST_F(SlowMpi, TrainsResnet8ToTheSameBits) {
  expect_ranks_to_agree("resnet8");
}

TEST_F(SlowMpi, TrainsMobilenetToTheSameBits) {
  expect_ranks_to_agree("mobilenet_v1_025");
}

TEST_F(SlowMpi, TrainsAQuantizedNetworkToTheSameBits) {
  expect_ranks_to_agree("resnet8+qat");
}

TEST_F(SlowMpi, TrainsWithSynchronizedStatisticsToTheSameBits) {
  expect_ranks_to_agree("resnet8+sync", {2, 4});
}

TEST_F(Mpi, TrainsAQuantizedNetworkWithSynchronizedStatistics) {
  expect_ranks_to_agree("mobilenet_v1_025+qat+sync", {2});
}

TEST_F(SlowMpi, TrainsOnAsManyRanksAsShards) {
  expect_ranks_to_agree("resnet8", {8});
}

TEST_F(Mpi, ResumesWithHalfTheRanksAfterOneWasKilled) {
  run_one("resnet8");
  const CommandResult killed =
      run_command(mpirun(4, training("resnet8", "out", "states", "mpi 2 43")));
  EXPECT_NE(killed.exit_code, 0);
  EXPECT_NE(killed.exit_code, 124) << "the other ranks kept waiting";
  EXPECT_THAT(killed.output, HasSubstr("rank 2"));
  EXPECT_THAT(killed.output, HasSubstr("signal 9"));
  EXPECT_FALSE(fs::exists(folder_ / "out" / "model.h5"));
  const CommandResult resumed =
      run_command(mpirun(2, training("resnet8", "out", "states", "mpi")));
  ASSERT_EQ(resumed.exit_code, 0) << resumed.output;
  expect_same("out");
}

TEST_F(Mpi, ResumesAfterCtrlC) {
  run_one("resnet8");
  // mpirun sends SIGTERM after four seconds, and kills after four more.
  const CommandResult pressed = run_command(
      "OMPI_MCA_odls_base_sigkill_timeout=4 " +
      mpirun(2, training("resnet8", "out", "states", "mpi 1 1042")));
  EXPECT_NE(pressed.exit_code, 0);
  EXPECT_NE(pressed.exit_code, 124) << "the ranks continued";
  EXPECT_FALSE(fs::exists(folder_ / "out" / "model.h5"));
  EXPECT_THAT(pressed.output,
              AllOf(HasSubstr("error: fit"), HasSubstr("interrupted")));
  const CommandResult resumed =
      run_command(mpirun(1, training("resnet8", "out", "states", "mpi")));
  ASSERT_EQ(resumed.exit_code, 0) << resumed.output;
  expect_same("out");
}

TEST_F(Mpi, ReportsAnErrorOnAllRanks) {
  const CommandResult all = run_command(
      mpirun(2, with_code(training("resnet8", "out", "-", "mpi 1 -7"))));
  EXPECT_EQ(count_of("error: no more of this\n  on rank 1 of 2", all.output), 2)
      << all.output;
  EXPECT_EQ(count_of("code 1\n", all.output), 2) << all.output;
}

TEST_F(Mpi, StopsAllRanksIfOneFailsBeforeTheFit) {
  const CommandResult all =
      run_command(mpirun(2, training("resnet8", "out", "-", "mpi 1 0")));
  EXPECT_NE(all.exit_code, 0);
  EXPECT_NE(all.exit_code, 124) << "the other rank kept waiting";
  EXPECT_THAT(all.output, HasSubstr("error: not this time"));
}

TEST_F(Mpi, RejectsRanksThatDiffer) {
  const std::string words = fmt::format(
      "{} resnet8 --mpi --limit 64 --epochs 1 --threads 1 --out {} --seed ",
      kTrainZoo, folder_.path().string());
  const CommandResult all = run_command(
      mpirun(1, with_code(words + "1") + " : -np 1 " + with_code(words + "2")));
  EXPECT_EQ(count_of("error: ", all.output), 2) << all.output;
  EXPECT_EQ(count_of("code 1\n", all.output), 2) << all.output;
  EXPECT_THAT(all.output, HasSubstr("seed"));
}

TEST_F(Mpi, RejectsANumberOfRanksThatDoesNotDivideTheShards) {
  const CommandResult all =
      run_command(mpirun(3, fmt::format("{} resnet8 --mpi --limit 64 --out {}",
                                        kTrainZoo, folder_.path().string())));
  EXPECT_EQ(all.exit_code, 1);
  EXPECT_EQ(all.failure, (Failure{"invalid_value", "fit"}));
}

TEST_F(Mpi, IsOneRankWithoutMpirun) {
  const CommandResult alone = run_command(fmt::format(
      "timeout 60 {} lenet --mpi --limit 64 --epochs 1 --verbose --out {}",
      kTrainZoo, folder_.path().string()));
  EXPECT_EQ(alone.exit_code, 0) << alone.output;
  EXPECT_THAT(alone.output, HasSubstr("1 rank (mpirun starts more)"));
  EXPECT_THAT(alone.output, HasSubstr("0.0 kB"));
}

TEST_F(Mpi, ReportsTraffic) {
  const CommandResult all = run_command(mpirun(
      2, fmt::format("{} lenet --mpi --limit 640 --epochs 1 --verbose --out {}",
                     kTrainZoo, folder_.path().string())));
  EXPECT_EQ(all.exit_code, 0) << all.output;
  EXPECT_THAT(all.output, HasSubstr("2 ranks, "));
  EXPECT_THAT(all.output, HasSubstr("gradients and parameters"));
}

}  // namespace
}  // namespace octet
