#include "plan/name_pattern.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <octet/runtime/error.h>

namespace octet::quant {
namespace {

/// Size limit of patterns. RE2's time is linear in pattern and name, its memory
/// and stack are bounded.
constexpr size_t kMostBytes = size_t{1} << 16;

/// Latin-1, i.e. bytes: names need not be UTF-8.
re2::RE2::Options options() {
  re2::RE2::Options options(re2::RE2::Latin1);
  options.set_log_errors(false);
  return options;
}

std::string_view hint_for(re2::RE2::ErrorCode error) {
  const bool is_left_out =
      error == re2::RE2::ErrorBadPerlOp || error == re2::RE2::ErrorBadEscape;
  return is_left_out ? ". Hint: the syntax is RE2's, "
                       "without look-ahead, look-behind and backreferences"
                     : "";
}

}  // namespace

class NamePattern::Expression : public re2::RE2 {
  using RE2::RE2;
};

NamePattern::NamePattern(const std::string& pattern) {
  if (pattern.size() > kMostBytes) {
    throw ValueError("size_limit", "regular expression",
                     fmt::format("length must be at most {} bytes, got {}",
                                 kMostBytes, pattern.size()));
  }
  expression_ = std::make_unique<Expression>(pattern, options());
  if (expression_->ok()) return;
  constexpr size_t kMostShown = 100;
  throw ValueError(
      "invalid_value", "regular expression",
      fmt::format("'{}{}' is invalid: {}{}", pattern.substr(0, kMostShown),
                  pattern.size() > kMostShown ? "..." : "",
                  expression_->error(), hint_for(expression_->error_code())));
}

NamePattern::~NamePattern() = default;

bool NamePattern::matches(std::string_view name) const {
  return re2::RE2::FullMatch(re2::StringPiece(name.data(), name.size()),
                             *expression_);
}

}  // namespace octet::quant
