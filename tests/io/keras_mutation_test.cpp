// Randomly changed Keras files: each is loaded or rejected in bounded time; a
// failed load leaves its model unchanged.
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/error.h>

#include "../support.h"
#include "keras_files.h"
#include "mutator.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::Contains;
using ::testing::StartsWith;

/// Results over many files.
struct Tally {
  int read = 0;
  int refused = 0;
  int unsupported = 0;

  template <class Body>
  void count(Body body) {
    try {
      body();
      ++read;
    } catch (const FormatError& error) {
      ++refused;
      EXPECT_THAT(error.context(), Contains(StartsWith("in file '")));
    } catch (const UnsupportedError&) {
      ++unsupported;
    }
  }
  void print(const char* what) const {
    std::cout << fmt::format("{}: {} read, {} refused, {} unsupported\n", what,
                             read, refused, unsupported);
  }
};

/// Keras' files and, if available, the shared models and the corpus of bad
/// files.
std::vector<std::string> seeds() {
  std::vector<std::string> files;
  for (const std::filesystem::path& folder :
       {keras_golden(""), testdata("models"), testdata("bad_inputs")}) {
    if (!std::filesystem::exists(folder)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const auto extension = entry.path().extension();
      if (extension != ".h5" && extension != ".keras") continue;
      files.push_back(read_file(entry.path()));
    }
  }
  std::ranges::sort(files);
  std::erase(files, "");
  return files;
}

TEST(KerasMutation, IsLoadedOrRejected) {
  const std::vector<std::string> files = seeds();
  const TempFolder folder;
  const WarningCapture warnings;
  Tally tally;
  uint64_t seed = 0;
  for (const FuzzRuns runs(150); runs.more(seed); ++seed) {
    SCOPED_TRACE(seed);
    write_file(folder / "m", Mutator(seed).damage(files[seed % files.size()]));
    // libhdf5 itself does not terminate for some files.
    tally.count(
        [&] { (void)load_keras(folder / "m", {.limits = {.time_limit = 2}}); });
  }
  tally.print("files");
  EXPECT_GT(tally.refused, 0);
}

/// Changed architectures with valid weights, to get past the container.
TEST(KerasMutation, OfAnArchitectureIsLoadedOrRejected) {
  struct Seed {
    std::string architecture;
    std::filesystem::path weights;
  };
  std::vector<Seed> seeds;
  for (const char* name : {"k2_functional", "k3_functional"}) {
    seeds.push_back(
        {read_file(keras_golden(fmt::format("{}.architecture.json", name))),
         keras_golden(fmt::format("{}.legacy_weights.h5", name))});
  }
  seeds.push_back(
      {read_file(keras_golden("toolkit_residual.architecture.json")),
       keras_golden("toolkit_residual.legacy_weights.h5")});
  const TempFolder folder;
  const WarningCapture warnings;
  Tally tally;
  uint64_t seed = 0;
  for (const FuzzRuns runs(600); runs.more(seed); ++seed) {
    SCOPED_TRACE(seed);
    const Seed& from = seeds[seed % seeds.size()];
    write_file(folder / "m.json", JsonMutator(seed).damage(from.architecture));
    tally.count([&] {
      (void)load_keras(from.weights, {.architecture = folder / "m.json"});
    });
  }
  tally.print("architectures");
  EXPECT_GT(tally.read, 0);
  EXPECT_GT(tally.refused, 0);
}

}  // namespace
}  // namespace octet::io
