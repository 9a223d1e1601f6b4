#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/train/communicator.h>

#include "float_tree.h"

namespace octet::train {
namespace {

using Clock = std::chrono::steady_clock;
using Sent = std::span<const std::byte>;
using Received = std::span<std::byte>;

/// Adds its lifetime to `seconds`.
class Timer {
 public:
  explicit Timer(double& seconds) : seconds_(seconds) {}
  ~Timer() {
    seconds_ += std::chrono::duration<double>(Clock::now() - start_).count();
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  double& seconds_;
  Clock::time_point start_ = Clock::now();
};

std::span<float> slice_of(std::span<float> values,
                          std::span<const int64_t> bounds, size_t rank) {
  return values.subspan(static_cast<size_t>(bounds[rank]),
                        static_cast<size_t>(bounds[rank + 1] - bounds[rank]));
}

// Returns the index of a rank. Throws: ValueError.
size_t index_of(int root, int size) {
  if (root < 0 || root >= size) {
    throw ValueError("out_of_range", "communicator",
                     fmt::format("root must be in [0,{}), got {}", size, root));
  }
  return static_cast<size_t>(root);
}

}  // namespace

void Communicator::keep_own(std::span<Sent> to, std::span<Received> from) {
  const auto ranks = static_cast<size_t>(size());
  const auto own = static_cast<size_t>(rank());
  if (to.size() != ranks || from.size() != ranks ||
      to[own].size() != from[own].size()) {
    throw ValueError(
        "count_mismatch", "exchange",
        fmt::format(
            "requires an entry to and from each of {} ranks, with equal "
            "sizes for this rank, got {} and {} entries",
            ranks, to.size(), from.size()));
  }
  if (!to[own].empty() && to[own].data() != from[own].data()) {
    std::memcpy(from[own].data(), to[own].data(), to[own].size());
  }
  to[own] = {};
  from[own] = {};
  for (const Sent& part : to) {
    traffic_.bytes += static_cast<int64_t>(part.size());
    traffic_.messages += part.empty() ? 0 : 1;
  }
}

void Communicator::exchange(std::span<const Sent> to,
                            std::span<const Received> from) {
  std::vector<Sent> sent(to.begin(), to.end());
  std::vector<Received> received(from.begin(), from.end());
  keep_own(sent, received);
  if (size() == 1) return;
  const Timer timer(traffic_.seconds);
  move(sent, received);
}

/// Measures the time of an exchange.
class Communicator::Counted final : public Exchange {
 public:
  Counted(std::unique_ptr<Exchange> exchange, double& seconds)
      : exchange_(std::move(exchange)), seconds_(seconds) {}

  bool progress() override {
    const Timer timer(seconds_);
    return exchange_->progress();
  }
  void wait() override {
    const Timer timer(seconds_);
    exchange_->wait();
  }

 private:
  std::unique_ptr<Exchange> exchange_;
  double& seconds_;
};

std::unique_ptr<Communicator::Exchange> Communicator::begin_exchange(
    std::vector<Sent> to, std::vector<Received> from) {
  keep_own(to, from);
  const Timer timer(traffic_.seconds);
  return std::make_unique<Counted>(begin_move(std::move(to), std::move(from)),
                                   traffic_.seconds);
}

std::unique_ptr<Communicator::Exchange> Communicator::begin_move(
    std::vector<Sent> to, std::vector<Received> from) {
  class Late final : public Exchange {
   public:
    explicit Late(std::function<void()> move) : move_(std::move(move)) {}
    bool progress() override { return move_ == nullptr; }
    void wait() override {
      if (const auto move = std::exchange(move_, nullptr)) move();
    }

   private:
    std::function<void()> move_;
  };
  if (size() == 1) return std::make_unique<Late>(nullptr);
  return std::make_unique<Late>(
      [this, to = std::move(to), from = std::move(from)] { move(to, from); });
}

void Communicator::sum(std::span<float> values) {
  const int64_t ranks = size();
  std::vector<int64_t> bounds;
  for (int64_t r = 0; r <= ranks; ++r) {
    bounds.push_back(std::ssize(values) * r / ranks);
  }
  const auto all = static_cast<size_t>(ranks);
  const std::span<float> own =
      slice_of(values, bounds, static_cast<size_t>(rank()));
  std::vector<float> terms(all * own.size());
  std::vector<Sent> to;
  std::vector<Received> from;
  for (size_t r = 0; r < all; ++r) {
    to.push_back(std::as_bytes(slice_of(values, bounds, r)));
    from.push_back(std::as_writable_bytes(
        std::span(terms).subspan(r * own.size(), own.size())));
  }
  exchange(to, from);
  sum_terms(terms, own);
  share_slices(values, bounds);
}

void Communicator::share_slices(std::span<float> values,
                                std::span<const int64_t> bounds) {
  const auto all = static_cast<size_t>(size());
  std::vector<Sent> to;
  std::vector<Received> from;
  for (size_t r = 0; r < all; ++r) {
    to.push_back(
        std::as_bytes(slice_of(values, bounds, static_cast<size_t>(rank()))));
    from.push_back(std::as_writable_bytes(slice_of(values, bounds, r)));
  }
  exchange(to, from);
}

std::vector<std::string> Communicator::gather_from(
    const std::vector<bool>& receivers, std::string_view own) {
  const auto all = static_cast<size_t>(size());
  const bool receives = receivers[static_cast<size_t>(rank())];
  const uint64_t length = own.size();
  std::vector<uint64_t> lengths(all);
  std::vector<Sent> to(all);
  std::vector<Received> from(all);
  for (size_t r = 0; r < all; ++r) {
    if (receivers[r]) to[r] = std::as_bytes(std::span(&length, 1));
    if (receives) {
      from[r] = std::as_writable_bytes(std::span(lengths).subspan(r, 1));
    }
  }
  exchange(to, from);
  std::vector<std::string> texts(receives ? all : 0);
  for (size_t r = 0; r < all; ++r) {
    if (receivers[r]) to[r] = std::as_bytes(std::span(own));
    if (receives) {
      texts[r].resize(lengths[r]);
      from[r] = std::as_writable_bytes(std::span(texts[r]));
    }
  }
  exchange(to, from);
  return texts;
}

std::vector<std::string> Communicator::gather(std::string_view own) {
  return gather_from(std::vector<bool>(static_cast<size_t>(size()), true), own);
}

std::vector<std::string> Communicator::gather_at(int root,
                                                 std::string_view own) {
  std::vector<bool> receivers(static_cast<size_t>(size()));
  receivers[index_of(root, size())] = true;
  return gather_from(receivers, own);
}

std::string Communicator::broadcast(int root, std::string_view own) {
  const size_t from = index_of(root, size());
  const bool gives = rank() == root;
  return std::move(gather(gives ? own : std::string_view())[from]);
}

void Communicator::barrier() { (void)gather({}); }

}  // namespace octet::train
