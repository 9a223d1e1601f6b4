#include "budget.h"

#include "limit_checks.h"

namespace octet::io::run {

Budget::Budget(const FileLimits& limits)
    : limits_(limits),
      deadline_(deadline_in(std::chrono::duration<double>(limits.time_limit))) {
}

bool Budget::is_late() const {
  return std::chrono::steady_clock::now() > deadline_;
}

bool Budget::take(int64_t bytes) {
  if (bytes > limits_.memory_limit - held_ - taken_) return false;
  taken_ += bytes;
  return true;
}

void Budget::hold(const Tensor& value) {
  if (value.empty() || value.bytes() == 0) return;
  if (++holders_[value.raw()] == 1) held_ += value.bytes();
}

void Budget::release(const Tensor& value) {
  if (value.empty() || value.bytes() == 0) return;
  const auto holder = holders_.find(value.raw());
  if (holder == holders_.end() || --holder->second > 0) return;
  holders_.erase(holder);
  held_ -= value.bytes();
}

}  // namespace octet::io::run
