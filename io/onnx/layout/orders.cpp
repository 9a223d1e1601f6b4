#include "orders.h"

#include <variant>

namespace octet::io::layout {

Order composed(const Order& first, const Order& second) {
  if (first.empty()) return second;
  if (second.empty()) return first;
  Order result;
  for (const int axis : second) {
    result.push_back(first[static_cast<size_t>(axis)]);
  }
  return result;
}

std::optional<Order> permutation_of(std::span<const Step> steps) {
  Order result;
  for (const Step& step : steps) {
    const auto* perm = std::get_if<std::vector<int>>(&step);
    if (perm == nullptr) return std::nullopt;
    result = composed(result, *perm);
  }
  return result;
}

}  // namespace octet::io::layout
