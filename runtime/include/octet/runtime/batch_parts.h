// BatchParts: what the parts of one batch do together, where a batch is cut and
// its parts go through a model side by side, in turns. Without it each part is
// a batch by itself.
//
// A layer of your own that moves statistics in training, unless it is frozen,
// takes them over all parts, and the first one moves them:
//
//   std::vector<double> sums = ...;  // of this part
//   BatchParts* const parts = batch_parts();
//   if (parts != nullptr) parts->sum(sums);
//   if (trainable() && (parts == nullptr || parts->first())) {
//     at(mean_).variable.assign(...);
//   }
#pragma once

#include <cstdint>
#include <span>

#include <octet/runtime/language.h>

namespace octet {

class BatchParts {
 public:
  BatchParts() = default;
  virtual ~BatchParts() = default;
  BatchParts(const BatchParts&) = delete;
  BatchParts& operator=(const BatchParts&) = delete;

  /// Adds the values of all parts, in an order that does not depend on where
  /// parts are computed, or takes the largest. All parts call the same, in the
  /// same order, and wait for the others: what is called must not depend on the
  /// samples of a part.
  /// Throws: ValueError where parts call different ones, or with different
  /// numbers of values.
  virtual void sum(std::span<double> values) = 0;
  virtual void max(std::span<double> values) = 0;

  /// The place of this part among those that share a model, from 0. The first
  /// one changes what all share (running statistics, scales), once they have
  /// met and before another goes on.
  virtual int64_t part() const = 0;
  bool first() const { return part() == 0; }
};

/// Those of this thread; null where a batch is whole.
BatchParts* batch_parts();

/// Sets them for this thread while it lives; null: batches are whole.
class BatchPartsGuard {
 public:
  explicit BatchPartsGuard(BatchParts* parts);
  ~BatchPartsGuard();
  BatchPartsGuard(const BatchPartsGuard&) = delete;
  BatchPartsGuard& operator=(const BatchPartsGuard&) = delete;

 private:
  BatchParts* before_;
};

}  // namespace octet
