// Communicator: the processes ("ranks") that train one model together. An
// implementation moves bytes; the order in which numbers are added is fixed
// here, so that sums are the same bits whatever moves them. octet::mpi has the
// one for clusters.
//
// All ranks call the same functions in the same order. Belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <octet/runtime/language.h>

namespace octet::train {

/// What one rank did in exchanges since its communicator was made.
struct Traffic {
  int64_t bytes = 0;     ///< sent to other ranks
  int64_t messages = 0;  ///< these bytes came in
  double seconds = 0;    ///< in exchanges, waiting for other ranks included
};

class Communicator {
 public:
  Communicator() = default;
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// In [0, size()).
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Sends `to[r]` to rank r and fills `from[r]` with what rank r sent here;
  /// one of each for every rank, this one included. The two ends of each pair
  /// agree on the number of bytes, which may be 0. Throws: ValueError for
  /// another number of parts, or parts for itself of different sizes.
  void exchange(std::span<const std::span<const std::byte>> to,
                std::span<const std::span<std::byte>> from);

  /// An exchange that goes on while its ranks compute.
  class Exchange {
   public:
    virtual ~Exchange() = default;
    /// Moves it on, without waiting. Whether it has come to its end.
    virtual bool progress() = 0;
    /// Until all has been sent and received. The first call counts.
    virtual void wait() = 0;
  };
  /// Begins exchange(); the parts must stay until wait() has returned, and all
  /// ranks begin the same ones in the same order. Others may come in between.
  /// Where an implementation knows no such thing, wait() does it all.
  std::unique_ptr<Exchange> begin_exchange(
      std::vector<std::span<const std::byte>> to,
      std::vector<std::span<std::byte>> from);

  /// Adds the values of all ranks, pairs of neighbours first and pairs of pairs
  /// then: (0+1)+(2+3). Every rank gets the same bits. Each sends
  /// 2 (size - 1) / size times the bytes of `values`.
  void sum(std::span<float> values);

  /// Each rank gives its slice of the values, [bounds[r], bounds[r+1]), and has
  /// all of them then. Shapes: bounds [size() + 1], rising.
  void share_slices(std::span<float> values, std::span<const int64_t> bounds);

  /// What each rank gave, in their order, on every rank. Sizes may differ.
  std::vector<std::string> gather(std::string_view own);
  /// The same on rank `root` alone; nothing on the others.
  std::vector<std::string> gather_at(int root, std::string_view own);
  /// What rank `root` gave, on every rank.
  std::string broadcast(int root, std::string_view own);
  /// Returns once all ranks have called it.
  void barrier();

  const Traffic& traffic() const { return traffic_; }

 protected:
  /// What exchange() does between different ranks; parts for itself are empty.
  virtual void move(std::span<const std::span<const std::byte>> to,
                    std::span<const std::span<std::byte>> from) = 0;
  /// What begin_exchange() does. Its messages are not taken for those of
  /// move().
  virtual std::unique_ptr<Exchange> begin_move(
      std::vector<std::span<const std::byte>> to,
      std::vector<std::span<std::byte>> from);

 private:
  class Counted;

  /// Copies a rank's part for itself, and leaves what is for others.
  void keep_own(std::span<std::span<const std::byte>> to,
                std::span<std::span<std::byte>> from);
  std::vector<std::string> gather_from(const std::vector<bool>& receivers,
                                       std::string_view own);

  Traffic traffic_;
};

}  // namespace octet::train
