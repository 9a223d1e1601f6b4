// Sums and messages between ranks.
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/rng.h>
#include <octet/train/communicator.h>

#include "thread_ranks.h"

namespace octet::train {
namespace {

using ::testing::ElementsAre;

std::vector<float> values_of(int rank, size_t count) {
  std::vector<float> values(count);
  Rng(static_cast<uint64_t>(rank)).fill_normal(values, 0, 1e3f);
  return values;
}

TEST(Communicator, AddsNeighborsFirst) {
  constexpr size_t kCount = 1001;
  std::vector<float> v[4];
  for (int r = 0; r < 4; ++r) v[r] = values_of(r, kCount);
  std::vector<float> expected(kCount);
  bool order_matters = false;
  for (size_t i = 0; i < kCount; ++i) {
    expected[i] = (v[0][i] + v[1][i]) + (v[2][i] + v[3][i]);
    order_matters |= expected[i] != ((v[0][i] + v[1][i]) + v[2][i]) + v[3][i];
  }
  EXPECT_TRUE(order_matters);
  on_ranks(4, [&](Communicator& ranks) {
    std::vector<float> sum = v[ranks.rank()];
    ranks.sum(sum);
    EXPECT_EQ(sum, expected);
  });
}

TEST(Communicator, SupportsNumbersOfRanksOtherThanPowersOfTwo) {
  const std::vector<float> v[3] = {values_of(0, 5), values_of(1, 5),
                                   values_of(2, 5)};
  on_ranks(3, [&](Communicator& ranks) {
    std::vector<float> sum = v[ranks.rank()];
    ranks.sum(sum);
    for (size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(sum[i], (v[0][i] + v[1][i]) + v[2][i]);
    }
  });
}

TEST(Communicator, SumSendsTheDocumentedBytes) {
  on_ranks(4, [&](Communicator& ranks) {
    std::vector<float> values(1000);
    ranks.sum(values);
    // 2 (R - 1) / R times the bytes.
    EXPECT_EQ(ranks.traffic().bytes, 2 * 3 * 1000 * 4 / 4);
    EXPECT_EQ(ranks.traffic().messages, 2 * 3);
    std::vector<float> none;
    ranks.sum(none);
    EXPECT_EQ(ranks.traffic().messages, 2 * 3);
  });
  on_ranks(1, [&](Communicator& ranks) {
    std::vector<float> one{1.5f};
    ranks.sum(one);
    EXPECT_EQ(one[0], 1.5f);
    EXPECT_EQ(ranks.traffic().bytes, 0);
  });
}

TEST(Communicator, ExchangesInTheBackground) {
  on_ranks(3, [](Communicator& ranks) {
    const auto own = static_cast<size_t>(ranks.rank());
    const std::vector<int> sent{10 * ranks.rank(), 10 * ranks.rank() + 1,
                                10 * ranks.rank() + 2};
    std::vector<int> received(3, -1);
    std::vector<std::span<const std::byte>> to;
    std::vector<std::span<std::byte>> from;
    for (size_t r = 0; r < 3; ++r) {
      to.push_back(std::as_bytes(std::span(sent).subspan(r, 1)));
      from.push_back(std::as_writable_bytes(std::span(received).subspan(r, 1)));
    }
    const auto exchange = ranks.begin_exchange(to, from);
    EXPECT_EQ(received[own], sent[own]);
    // Other exchanges may run meanwhile.
    EXPECT_THAT(ranks.gather("x"), ElementsAre("x", "x", "x"));
    EXPECT_EQ(exchange->progress(), ranks.size() == 1);
    exchange->wait();
    exchange->wait();
    EXPECT_TRUE(exchange->progress());
    const int place = ranks.rank();
    EXPECT_THAT(received, ElementsAre(place, 10 + place, 20 + place));
    to.pop_back();
    EXPECT_THROW((void)ranks.begin_exchange(to, from), ValueError);
  });
}

TEST(Communicator, GathersTextsOfAnySize) {
  on_ranks(3, [](Communicator& ranks) {
    const std::string own(static_cast<size_t>(2 * ranks.rank()), 'x');
    EXPECT_THAT(ranks.gather(own), ElementsAre("", "xx", "xxxx"));
    const auto at_one = ranks.gather_at(1, own);
    if (ranks.rank() == 1) {
      EXPECT_THAT(at_one, ElementsAre("", "xx", "xxxx"));
    } else {
      EXPECT_TRUE(at_one.empty());
    }
    EXPECT_EQ(ranks.broadcast(2, own), "xxxx");
    for (const int root : {-1, 3}) {
      EXPECT_THROW((void)ranks.gather_at(root, own), ValueError);
      EXPECT_THROW((void)ranks.broadcast(root, own), ValueError);
    }
    ranks.barrier();
  });
}

}  // namespace
}  // namespace octet::train
