// octet::mpi::Communicator: training on several machines over MPI.
//
//   octet::mpi::Communicator mpi;
//   train::fit(model, data, {.shards = 8, .communicator = &mpi});
//
// started as `mpirun -np 4 PROGRAM`. Only this library, octet::mpi, depends on
// MPI. See docs/guides/many-machines.md.
#pragma once

#include <octet/train/communicator.h>

namespace octet::mpi {

/// Connects the ranks that mpirun started; a single rank without mpirun.
/// Initializes and finalizes MPI, so a program can construct a single instance,
/// and must use it in the thread that trains.
///
/// If an exception leaves its scope on this rank only, the other ranks would
/// wait forever. The destructor therefore waits up to two seconds for them and
/// otherwise does not finalize MPI, so mpirun ends them. Construct it inside
/// the try block: if an exception is caught in its scope, other ranks hang.
class Communicator final : public train::Communicator {
 public:
  /// Initializes MPI.
  /// Throws: IoError if MPI cannot be initialized; ValueError for a second
  /// instance.
  Communicator();
  ~Communicator() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  /// Returns the number of ranks on this machine.
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
