// Regular expressions over layer names. The one place that knows RE2.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace octet::quant {

/// A compiled expression. Matching takes no lock and changes nothing.
class NamePattern {
 public:
  /// Throws: ValueError unless `pattern` is a regular expression as RE2 takes
  /// them, of at most 64 KiB.
  explicit NamePattern(const std::string& pattern);
  ~NamePattern();

  /// Whether the whole name matches.
  bool matches(std::string_view name) const;

 private:
  class Expression;
  std::unique_ptr<Expression> expression_;
};

}  // namespace octet::quant
