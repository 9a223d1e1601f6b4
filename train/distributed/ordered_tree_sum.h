// OrderedTreeSum: sum in a fixed order. Internal to train.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace octet::train {

/// Adds 2^k terms as a binary tree over their indices: (0+1)+(2+3). The partial
/// sum of an aligned block of 2^j terms is a subtree, so the result does not
/// depend on the distribution of terms over ranks. Terms may be missing; the
/// sum of a term and a missing term is the term.
template <class T>
class OrderedTreeSum {
 public:
  using Add = void (*)(T& to, const T& from);
  explicit OrderedTreeSum(Add add) : add_(add) {}

  void push(std::optional<T> term) {
    std::optional<T> sum = std::move(term);
    // Bit j of the count is set if a partial sum of 2^j terms is waiting.
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

  /// Returns the sum of all terms and resets the tree. For a number of terms
  /// other than 2^k, the waiting partial sums are added from the last to the
  /// first.
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
