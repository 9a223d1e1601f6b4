// Collective calls with error propagation between ranks. Internal to train.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <octet/train/communicator.h>

namespace octet::train {

/// Communicator of a single process.
class LocalCommunicator final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }

 private:
  void move(std::span<const std::span<const std::byte>>,
            std::span<const std::span<std::byte>>) override {}
};

/// Runs `body` on this rank and returns the results of all ranks, in rank
/// order. If `body` throws on any rank, all ranks throw the error of the lowest
/// such rank, with the rank in its context unless all ranks have the same
/// error. With several ranks, exceptions other than Error become InternalError.
/// REQUIRES: all ranks call it; `body` does not communicate.
std::vector<std::string> all_gather_or_throw(
    Communicator& ranks, const std::function<std::string()>& body);
/// Like all_gather_or_throw(), for a body without a result.
void run_on_all(Communicator& ranks, const std::function<void()>& body);

}  // namespace octet::train
