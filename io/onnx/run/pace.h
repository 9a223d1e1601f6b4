// Looks at the clock now and then during a long operator.
#pragma once

#include <cstdint>

#include "node.h"

namespace octet::io::run {

/// Of one thread, for one part of an operator's work.
class Pace {
 public:
  /// Throws: FormatError if the time is over.
  explicit Pace(const NodeContext& context) : context_(context) {
    context.check_time();
  }

  /// To be told of work before it is done, in elements or multiply-adds.
  /// Throws: FormatError if the time is over.
  void add(int64_t work) {
    if ((since_look_ += work) < kOften) return;
    since_look_ = 0;
    context_.check_time();
  }

 private:
  static constexpr int64_t kOften = int64_t{1} << 24;  // milliseconds

  const NodeContext& context_;
  int64_t since_look_ = 0;
};

}  // namespace octet::io::run
