#include "accuracy.h"

#include <cmath>

namespace octet::train {

bool is_right(std::span<const float> row, int64_t label) {
  const auto answer = static_cast<size_t>(label);
  const float best = row[answer];
  if (std::isnan(best)) return false;
  // Comparisons with NaN are false, so a NaN anywhere makes the row wrong.
  for (size_t i = 0; i < answer; ++i) {
    if (!(best > row[i])) return false;
  }
  for (size_t i = answer + 1; i < row.size(); ++i) {
    if (!(best >= row[i])) return false;
  }
  return true;
}

int64_t count_right(const Tensor& logits, const Tensor& labels) {
  const auto classes = static_cast<size_t>(logits.shape()[1]);
  const auto values = logits.f32();
  const auto answers = labels.data<int64_t>();
  int64_t right = 0;
  for (size_t i = 0; i < answers.size(); ++i) {
    right += is_right(values.subspan(i * classes, classes), answers[i]) ? 1 : 0;
  }
  return right;
}

}  // namespace octet::train
