// Ranks over MPI, for training on several machines:
//
//   octet::mpi::Communicator mpi;
//   train::fit(model, data, {.shards = 8, .communicator = &mpi});
//
// started as `mpirun -np 4 PROGRAM`. This library, octet::mpi, is the only one
// that needs MPI. See train/README.md, "On several machines".
#pragma once

#include <octet/train/communicator.h>

namespace octet::mpi {

/// The ranks that mpirun started, or one if the program was started without
/// it. One in the life of a program, made and used in the thread that trains:
/// MPI begins and ends with it.
///
/// If an exception leaves its scope on this rank alone, the others would wait
/// for it forever. So it waits for them for two seconds and then leaves MPI
/// unfinished, whereupon mpirun ends them. Make it inside of the try block that
/// catches: an exception that is caught while it lives leaves the others
/// waiting.
class Communicator final : public train::Communicator {
 public:
  /// Throws: IoError if MPI cannot be begun; ValueError for a second one.
  Communicator();
  ~Communicator() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  /// How many of the ranks run on this machine.
  int local_size() const { return local_size_; }

 private:
  void move(std::span<const std::span<const std::byte>> to,
            std::span<const std::span<std::byte>> from) override;
  std::unique_ptr<Exchange> begin_move(
      std::vector<std::span<const std::byte>> to,
      std::vector<std::span<std::byte>> from) override;

  int rank_ = 0;
  int size_ = 1;
  int local_size_ = 1;
  int exceptions_ = 0;
};

}  // namespace octet::mpi
