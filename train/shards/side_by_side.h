// The shards of a batch, computed side by side. Internal to train.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <octet/train/communicator.h>

namespace octet::train {

/// What parts wait for; `idle`: there are none, `ended`: they do not wait.
enum class Meeting : uint8_t { idle, ended, sum, max };

/// Shards that wait for each other where batch normalization or a scale that
/// follows needs the whole batch: BatchParts. The shards of a rank take turns,
/// in their order, from one such place to the next; then the ranks meet.
class SideBySide {
 public:
  /// `count` shards of this rank.
  SideBySide(Communicator& ranks, int64_t count);
  ~SideBySide();

  /// Runs `body(i)` for the first `busy` of them, which are parts of a batch.
  /// Before a turn of each calls `before_turn(i)`, and `after_turn(i)` after
  /// it, if that has not thrown. Communicates.
  /// Throws: on all ranks, what a body threw on one.
  void run(int64_t busy, const std::function<void(int64_t)>& body,
           const std::function<void(int64_t)>& before_turn,
           const std::function<void(int64_t)>& after_turn);

 private:
  class Part;

  Communicator& ranks_;
  std::vector<std::unique_ptr<Part>> parts_;
};

}  // namespace octet::train
