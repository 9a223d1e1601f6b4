// Consumers of the values of a lowered graph.
#pragma once

#include <cstddef>
#include <span>
#include <unordered_map>
#include <vector>

#include "graph.h"

namespace octet::inference {

/// Consumers of each value.
class Consumers {
 public:
  explicit Consumers(const LoweredGraph& graph) : graph_(graph) {
    for (size_t i = 0; i < graph.calls.size(); ++i) {
      for (const int input : graph.calls[i].inputs) {
        add(calls_, input, static_cast<int>(i));
      }
    }
    for (size_t i = 0; i < graph.values.size(); ++i) {
      for (const int part : graph.values[i].parts) {
        add(concatenations_, part, static_cast<int>(i));
      }
    }
    add_expressions();
  }

  /// Adds expressions appended to the graph since the last call.
  void add_expressions() {
    for (; expressions_seen_ < graph_.pointwise.size(); ++expressions_seen_) {
      const Pointwise& p = graph_.pointwise[expressions_seen_];
      for (const int value : {p.first, p.second, p.multiplier, p.other}) {
        if (value >= 0) {
          add(expressions_, value, static_cast<int>(expressions_seen_));
        }
      }
    }
  }
  /// Replaces an input of a call.
  void move(int call, int from, int to) {
    std::erase(calls_[from], call);
    add(calls_, to, call);
  }

  /// Without duplicates, in order.
  std::span<const int> calls(int value) const { return of(calls_, value); }
  std::span<const int> expressions(int value) const {
    return of(expressions_, value);
  }
  std::span<const int> concatenations(int value) const {
    return of(concatenations_, value);
  }

 private:
  using Lists = std::unordered_map<int, std::vector<int>>;
  static void add(Lists& lists, int value, int consumer) {
    std::vector<int>& list = lists[value];
    if (list.empty() || list.back() != consumer) list.push_back(consumer);
  }
  static std::span<const int> of(const Lists& lists, int value) {
    const auto found = lists.find(value);
    if (found == lists.end()) return {};
    return found->second;
  }

  const LoweredGraph& graph_;
  Lists calls_, expressions_, concatenations_;
  size_t expressions_seen_ = 0;
};

}  // namespace octet::inference
