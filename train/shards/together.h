// What every rank does at the same place, and how it may fail there. Internal
// to train.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <octet/train/communicator.h>

namespace octet::train {

/// One rank, which is all there are.
class OneRank final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }

 private:
  void move(std::span<const std::span<const std::byte>>,
            std::span<const std::span<std::byte>>) override {}
};

/// Runs `body` on every rank and gives what it returned on each. If it throws
/// on some, all ranks throw the error of the first of these, which says where
/// unless it is the same everywhere. REQUIRES: `body` does not communicate.
std::vector<std::string> together(Communicator& ranks,
                                  const std::function<std::string()>& body);
/// The same of what returns nothing.
void run_on_all(Communicator& ranks, const std::function<void()>& body);

}  // namespace octet::train
