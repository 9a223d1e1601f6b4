// Communicator: connects the processes ("ranks") that train a model together.
// Implementations transfer bytes; the order of additions is fixed here, so sums
// are bit-identical on every transport. octet::mpi::Communicator implements it
// for clusters.
//
// All ranks must call the same functions in the same order. Not thread-safe:
// all calls must come from the same thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <octet/runtime/detail/language.h>

namespace octet::train {

/// Communication of this rank since the construction of its communicator.
struct Traffic {
  int64_t bytes = 0;     ///< sent to other ranks
  int64_t messages = 0;  ///< number of messages that carried these bytes
  double seconds = 0;    ///< in exchanges, including waiting for other ranks
};

/// Connection of this rank with the other ranks of a training.
class Communicator {
 public:
  Communicator() = default;
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// Returns the number of this rank, in [0, size()).
  virtual int rank() const = 0;
  /// Returns the number of ranks, >= 1.
  virtual int size() const = 0;

  /// All-to-all: sends `to[r]` to rank r and receives `from[r]` from rank r.
  /// Both have an entry for every rank, including this rank. Sender and
  /// receiver must agree on the number of bytes, which may be 0.
  /// Throws: ValueError unless there are size() entries each and this rank's
  /// own two entries have the same size.
  void exchange(std::span<const std::span<const std::byte>> to,
                std::span<const std::span<std::byte>> from);

  /// An exchange in the background.
  class Exchange {
   public:
    virtual ~Exchange() = default;
    /// Advances the exchange without blocking. Returns whether it is complete.
    virtual bool progress() = 0;
    /// Blocks until everything is sent and received. Further calls do nothing.
    virtual void wait() = 0;
  };
  /// Begins an exchange() in the background. The buffers must stay valid until
  /// wait() returns. All ranks begin the same exchanges in the same order;
  /// other exchanges may run meanwhile. An implementation without background
  /// transfers performs the exchange in wait().
  std::unique_ptr<Exchange> begin_exchange(
      std::vector<std::span<const std::byte>> to,
      std::vector<std::span<std::byte>> from);

  /// All-reduce: sums the values of all ranks as a binary tree over ranks,
  /// (0+1)+(2+3). All ranks receive the same bits. Each rank sends
  /// 2 (size - 1) / size times the bytes of `values`.
  void sum(std::span<float> values);

  /// All-gather of slices: rank r contributes [bounds[r], bounds[r+1]) of
  /// `values`; all ranks receive all slices.
  /// Shapes: bounds [size() + 1], ascending.
  void share_slices(std::span<float> values, std::span<const int64_t> bounds);

  /// All-gather: returns the texts of all ranks, in rank order. Sizes may
  /// differ.
  std::vector<std::string> gather(std::string_view own);
  /// Gather: as gather() on rank `root`, empty on other ranks.
  std::vector<std::string> gather_at(int root, std::string_view own);
  /// Returns the text of rank `root` on every rank.
  std::string broadcast(int root, std::string_view own);
  /// Returns once all ranks have called it.
  void barrier();

  /// Returns the communication of this rank so far.
  const Traffic& traffic() const { return traffic_; }

 protected:
  /// Transfers between different ranks for exchange(); this rank's own entries
  /// are empty.
  virtual void move(std::span<const std::span<const std::byte>> to,
                    std::span<const std::span<std::byte>> from) = 0;
  /// Begins the transfers of begin_exchange(). Its messages must not be
  /// matched with messages of move().
  virtual std::unique_ptr<Exchange> begin_move(
      std::vector<std::span<const std::byte>> to,
      std::vector<std::span<std::byte>> from);

 private:
  class Counted;

  /// Copies this rank's own entry and empties it in `to` and `from`.
  void keep_own(std::span<std::span<const std::byte>> to,
                std::span<std::span<std::byte>> from);
  std::vector<std::string> gather_from(const std::vector<bool>& receivers,
                                       std::string_view own);

  Traffic traffic_;
};

}  // namespace octet::train
