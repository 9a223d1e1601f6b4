// GradientExchange: reduces gradients to the ranks that own the parameters.
// Internal to train.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <octet/runtime/tensor.h>
#include <octet/train/communicator.h>

namespace octet::train {

/// Sums the gradients of a batch over ranks. Gradients are sent in groups of
/// consecutive parameters, last parameters first, as soon as a group is
/// complete, which overlaps communication with the backward pass.
class GradientExchange {
 public:
  /// Parameter p has elements [offsets[p], offsets[p+1]), and rank r owns
  /// the parameters [owners[r], owners[r+1]).
  GradientExchange(Communicator& ranks, std::span<const int64_t> offsets,
                   std::span<const size_t> owners);

  /// Begins a batch, of which only the first `busy` ranks have samples.
  void begin(int busy);
  /// Sets this rank's gradient of a parameter. An empty tensor means zero.
  void put(size_t parameter, const Tensor& gradient);
  /// Sends complete groups and advances pending exchanges.
  void progress();
  /// Completes the batch; all ranks must call it. Sends missing gradients, too,
  /// so that other ranks do not wait for a failed rank.
  void finish();

  /// Returns the summed gradient of a parameter of this rank, after finish().
  std::span<const float> sum(size_t parameter);
  /// Returns a buffer for all parameters in order, free for use between
  /// batches.
  std::span<float> flat() { return flat_; }

 private:
  /// A group of parameters [first, last) with the same owner.
  struct ParameterGroup {
    size_t first;
    size_t last;
    size_t owner;
    size_t missing = 0;             // parameters without a gradient so far
    std::vector<float> terms = {};  // on the owner: received from busy ranks
    std::unique_ptr<Communicator::Exchange> exchange = {};
  };

  void send(ParameterGroup& run);
  std::span<float> elements(size_t first, size_t last);

  Communicator& ranks_;
  std::vector<int64_t> offsets_;
  std::vector<ParameterGroup> groups_;  // last parameters first
  std::vector<size_t> group_of_;
  std::vector<float> flat_;
  size_t sent_ = 0;  // number of groups sent
  size_t done_ = 0;  // number of groups completed
  size_t busy_ = 0;
};

}  // namespace octet::train
