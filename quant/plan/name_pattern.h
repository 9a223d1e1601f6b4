// Regular expressions over layer names. The only user of RE2.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace octet::quant {

/// A compiled expression. Matching is thread-safe and lock-free.
class NamePattern {
 public:
  /// Throws: ValueError for an invalid RE2 expression or more than 64 KiB.
  explicit NamePattern(const std::string& pattern);
  ~NamePattern();

  /// Returns whether the whole name matches.
  bool matches(std::string_view name) const;

 private:
  class Expression;
  std::unique_ptr<Expression> expression_;
};

}  // namespace octet::quant
