// Gradients on their way to the ranks that own the parameters. Internal to
// train.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <octet/runtime/tensor.h>
#include <octet/train/communicator.h>

namespace octet::train {

/// Adds what ranks have of the gradients of a batch. They leave in runs of some
/// parameters, the last ones first, as soon as these are complete: while the
/// backward pass goes on with the layers before.
class GradientExchange {
 public:
  /// Parameter p has the elements [offsets[p], offsets[p+1]), and rank r owns
  /// the parameters [owners[r], owners[r+1]).
  GradientExchange(Communicator& ranks, std::span<const int64_t> offsets,
                   std::span<const size_t> owners);

  /// Begins with a batch, of which the first `busy` ranks have a share.
  void begin(int busy);
  /// This rank's share of the gradient of a parameter; an empty one is zero.
  void put(size_t parameter, const Tensor& gradient);
  /// Sends what is complete, and moves on what is under way.
  void progress();
  /// Ends the batch, for all ranks at once: also what was not put leaves, so
  /// that a rank that failed does not hold up the others.
  void finish();

  /// Of a parameter that this rank owns, once finished.
  std::span<const float> sum(size_t parameter);
  /// Room for all parameters in their order, free between batches.
  std::span<float> flat() { return flat_; }

 private:
  /// Parameters [first, last) of one owner.
  struct Run {
    size_t first;
    size_t last;
    size_t owner;
    size_t missing = 0;             // parameters that are not complete
    std::vector<float> terms = {};  // of the owner: those of busy ranks
    std::unique_ptr<Communicator::Exchange> exchange = {};
  };

  void send(Run& run);
  std::span<float> elements(size_t first, size_t last);

  Communicator& ranks_;
  std::vector<int64_t> offsets_;
  std::vector<Run> runs_;  // the last parameters first
  std::vector<size_t> run_of_;
  std::vector<float> flat_;
  size_t sent_ = 0;  // runs
  size_t done_ = 0;  // of these, that have come to their end
  size_t busy_ = 0;
};

}  // namespace octet::train
