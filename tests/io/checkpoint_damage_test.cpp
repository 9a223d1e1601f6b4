// Every kind of damage to Octet's files is detected.
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "../train/checkpoints.h"
#include "checkpoint/file.h"

namespace octet::io {
namespace {

class DamagedFile : public ::testing::Test {
 protected:
  static std::string whole() {
    static const std::string contents = [] {
      train::MemoryCheckpoints memory;
      Model model = train::image_network();
      train::fit(model, train::images(50, 1),
                 {.batch_size = 25,
                  .checkpoints = std::shared_ptr<train::Checkpointer>(
                      &memory, [](train::Checkpointer*) {})});
      return file_of(memory.states.back());
    }();
    return contents;
  }
  static bool is_refused(const std::string& contents) {
    try {
      (void)state_in(contents, "a.h5", {});
      return false;
    } catch (const FormatError&) {
      return true;
    }
  }
};

TEST_F(DamagedFile, IsValidBeforeDamage) { EXPECT_FALSE(is_refused(whole())); }

TEST_F(DamagedFile, IsRejectedAtEveryTruncation) {
  const std::string contents = whole();
  for (size_t length = 0; length < contents.size(); ++length) {
    ASSERT_TRUE(is_refused(contents.substr(0, length))) << length;
  }
  for (const size_t more : {1u, 20u, 512u, 4096u}) {
    EXPECT_TRUE(is_refused(contents + std::string(more, '\0'))) << more;
    EXPECT_TRUE(is_refused(contents + contents.substr(0, more))) << more;
  }
}

TEST_F(DamagedFile, IsRejectedWithAnyBitFlipped) {
  const std::string contents = whole();
  std::mt19937_64 random(4);
  for (int i = 0; i < 3000; ++i) {
    std::string flipped = contents;
    const size_t flips = i % 10 == 0 ? 1 + random() % 8 : 1;
    std::set<std::pair<size_t, int>> places;
    for (size_t k = 0; k < flips; ++k) {
      places.emplace(random() % contents.size(), random() % 8);
    }
    for (const auto& [at, bit] : places) {
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
    }
    ASSERT_TRUE(is_refused(flipped)) << "flip " << i;
  }
  // The checksum itself.
  for (size_t at = contents.size() - 20; at < contents.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = contents;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
      ASSERT_TRUE(is_refused(flipped)) << at << " bit " << bit;
    }
  }
}

TEST_F(DamagedFile, IsRejectedWithLostOrSwappedParts) {
  const std::string contents = whole();
  constexpr size_t kBlock = 512;
  const size_t blocks = contents.size() / kBlock;
  ASSERT_GT(blocks, 10u);
  for (size_t block = 0; block < blocks; ++block) {
    const std::string lost = std::string(kBlock, '\0');
    const std::string before = contents.substr(block * kBlock, kBlock);
    if (before == lost) continue;
    std::string zeroed = contents;
    zeroed.replace(block * kBlock, kBlock, lost);
    EXPECT_TRUE(is_refused(zeroed)) << block;
    const size_t other = (block + 1) % blocks;
    if (before == contents.substr(other * kBlock, kBlock)) continue;
    std::string swapped = contents;
    swapped.replace(block * kBlock, kBlock,
                    contents.substr(other * kBlock, kBlock));
    swapped.replace(other * kBlock, kBlock, before);
    EXPECT_TRUE(is_refused(swapped)) << block;
  }
}

}  // namespace
}  // namespace octet::io
