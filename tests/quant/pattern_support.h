// Support for the tests of the pattern route.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support.h"

namespace octet::quant {

/// "ConvBN conv bn" or "skipped: Linear dense" for each match.
inline std::vector<std::string> outline(
    const std::vector<PatternMatch>& matches) {
  std::vector<std::string> result;
  for (const PatternMatch& match : matches) {
    result.push_back(fmt::format("{}{} {}", match.apply ? "" : "skipped: ",
                                 match.pattern, fmt::join(match.layers, " ")));
  }
  return result;
}

/// "INPUT conv input 0" for each point.
inline std::vector<std::string> points(const PatternMatch& match) {
  std::vector<std::string> result;
  for (const MatchPoint& point : match.qdq_points) {
    result.push_back(fmt::format("{} {} {}", to_string(point.point),
                                 point.layer, to_string(point.site)));
  }
  return result;
}

/// Numbers of applied and skipped matches by pattern, without unmatched
/// patterns.
inline std::map<std::string, int64_t> applied(const TransformReport& report) {
  std::map<std::string, int64_t> result;
  for (const TransformReport::Count& count : report.patterns) {
    if (count.applied > 0) result[count.pattern] = count.applied;
  }
  return result;
}
inline std::map<std::string, int64_t> skipped(const TransformReport& report) {
  std::map<std::string, int64_t> result;
  for (const TransformReport::Count& count : report.patterns) {
    if (count.skipped > 0) result[count.pattern] = count.skipped;
  }
  return result;
}

/// The built-in patterns, preceded by a custom one.
inline std::vector<Pattern> with_first(Pattern pattern) {
  std::vector<Pattern> patterns = tensorrt_patterns();
  patterns.insert(patterns.begin(), std::move(pattern));
  return patterns;
}

inline SymbolicTensor conv(const SymbolicTensor& x, const std::string& name,
                           int64_t filters = 4) {
  return Conv2D({.filters = filters, .padding = Padding::same, .name = name})(
      x);
}
inline SymbolicTensor norm(const SymbolicTensor& x, const std::string& name) {
  return BatchNormalization({.name = name})(x);
}
inline SymbolicTensor relu(const SymbolicTensor& x, const std::string& name) {
  return ReLU({.name = name})(x);
}
inline SymbolicTensor add(const SymbolicTensor& a, const SymbolicTensor& b,
                          const std::string& name) {
  return Add({.name = name})({a, b});
}

}  // namespace octet::quant
