#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>
#include <octet/train/communicator.h>

#include "shards/fixed_tree.h"

namespace octet::train {
namespace {

using Clock = std::chrono::steady_clock;
using Sent = std::span<const std::byte>;
using Received = std::span<std::byte>;

void add_floats(std::span<float>& to, const std::span<float>& from) {
  parallel_chunks(std::ssize(to), [&](int64_t first, int64_t last, int64_t) {
    for (int64_t i = first; i < last; ++i) {
      to[static_cast<size_t>(i)] += from[static_cast<size_t>(i)];
    }
  });
}

std::span<float> slice_of(std::span<float> values,
                          std::span<const int64_t> bounds, size_t rank) {
  return values.subspan(static_cast<size_t>(bounds[rank]),
                        static_cast<size_t>(bounds[rank + 1] - bounds[rank]));
}

}  // namespace

void Communicator::exchange(std::span<const Sent> to,
                            std::span<const Received> from) {
  const auto ranks = static_cast<size_t>(size());
  const auto own = static_cast<size_t>(rank());
  if (to.size() != ranks || from.size() != ranks ||
      to[own].size() != from[own].size()) {
    throw ValueError(fmt::format(
        "exchange: expected a part to and from each of {} ranks, and as much "
        "to as from itself, got {} and {} parts",
        ranks, to.size(), from.size()));
  }
  if (!to[own].empty() && to[own].data() != from[own].data()) {
    std::memcpy(from[own].data(), to[own].data(), to[own].size());
  }
  if (ranks == 1) return;
  std::vector<Sent> sent(to.begin(), to.end());
  std::vector<Received> received(from.begin(), from.end());
  sent[own] = {};
  received[own] = {};
  for (const Sent& part : sent) {
    traffic_.bytes += static_cast<int64_t>(part.size());
    traffic_.messages += part.empty() ? 0 : 1;
  }
  const Clock::time_point start = Clock::now();
  move(sent, received);
  traffic_.seconds +=
      std::chrono::duration<double>(Clock::now() - start).count();
}

void Communicator::sum(std::span<float> values) {
  const int64_t ranks = size();
  std::vector<int64_t> bounds;
  for (int64_t r = 0; r <= ranks; ++r) {
    bounds.push_back(std::ssize(values) * r / ranks);
  }
  sum_slices(values, bounds, size());
  share_slices(values, bounds);
}

void Communicator::sum_slices(std::span<float> values,
                              std::span<const int64_t> bounds, int ranks) {
  const auto all = static_cast<size_t>(size());
  const auto own = static_cast<size_t>(rank());
  const auto adding = static_cast<size_t>(ranks);
  if (all == 1) return;
  const size_t count = slice_of(values, bounds, own).size();
  std::vector<float> terms(adding * count);
  std::vector<Sent> to(all);
  std::vector<Received> from(all);
  for (size_t r = 0; r < all; ++r) {
    if (own < adding) to[r] = std::as_bytes(slice_of(values, bounds, r));
    if (r < adding) {
      from[r] =
          std::as_writable_bytes(std::span(terms).subspan(r * count, count));
    }
  }
  exchange(to, from);
  FixedTree<std::span<float>> tree(add_floats);
  for (size_t r = 0; r < all; ++r) {
    std::optional<std::span<float>> term;
    if (r < adding) term = std::span(terms).subspan(r * count, count);
    tree.push(term);
  }
  const std::optional<std::span<float>> total = tree.take();
  if (total) {
    std::ranges::copy(*total, slice_of(values, bounds, own).begin());
  }
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
  receivers.at(static_cast<size_t>(root)) = true;
  return gather_from(receivers, own);
}

std::string Communicator::broadcast(int root, std::string_view own) {
  const bool gives = rank() == root;
  return std::move(
      gather(gives ? own : std::string_view()).at(static_cast<size_t>(root)));
}

void Communicator::barrier() { (void)gather({}); }

}  // namespace octet::train
