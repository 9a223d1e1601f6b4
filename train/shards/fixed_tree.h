// Sums in one fixed order. Internal to train.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace octet::train {

/// Adds 2^k terms as a binary tree over their places: (0+1)+(2+3). A half of
/// them that begins at a multiple of its size makes a term of the same tree,
/// which is why the sum does not depend on how terms are spread over ranks.
/// Terms may be missing; a sum with one missing side is the other side.
template <class T>
class FixedTree {
 public:
  using Add = void (*)(T& to, const T& from);
  explicit FixedTree(Add add) : add_(add) {}

  void push(std::optional<T> term) {
    std::optional<T> sum = std::move(term);
    // The bits of the count say which sums are waiting for their other half.
    int64_t bit = 1;
    for (; (count_ & bit) != 0; bit <<= 1) {
      std::optional<T> left = std::move(waiting_.back());
      waiting_.pop_back();
      if (left && sum) add_(*left, *sum);
      if (left) sum = std::move(left);
    }
    waiting_.push_back(std::move(sum));
    ++count_;
  }

  /// Of all terms, which it lets go of. Of another number than 2^k, the sums of
  /// its powers of two are added from the last one on.
  std::optional<T> take() {
    std::optional<T> total;
    for (; !waiting_.empty(); waiting_.pop_back()) {
      std::optional<T>& left = waiting_.back();
      if (left && total) add_(*left, *total);
      if (left) total = std::move(left);
    }
    count_ = 0;
    return total;
  }

 private:
  Add add_;
  int64_t count_ = 0;
  std::vector<std::optional<T>> waiting_;
};

}  // namespace octet::train
