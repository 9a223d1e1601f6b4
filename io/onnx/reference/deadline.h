// Periodic deadline checks in long operators.
#pragma once

#include <cstdint>

#include "node.h"

namespace octet::io::run {

/// Used by a single thread for a part of an operator's work.
class DeadlineCheck {
 public:
  /// Throws: FormatError after the deadline.
  explicit DeadlineCheck(const NodeContext& context) : context_(context) {
    context.check_time();
  }

  /// Announces work, in elements or multiply-adds, before it is done.
  /// Throws: FormatError after the deadline.
  void add(int64_t work) {
    since_look_ += work;
    if (since_look_ < kOften) return;
    since_look_ = 0;
    context_.check_time();
  }

 private:
  static constexpr int64_t kOften = int64_t{1} << 24;  // takes milliseconds

  const NodeContext& context_;
  int64_t since_look_ = 0;
};

}  // namespace octet::io::run
