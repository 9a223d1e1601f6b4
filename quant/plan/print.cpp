#include <ostream>

#include <octet/quant/plan.h>

namespace octet::quant {

std::ostream& operator<<(std::ostream& out, const QdqPlan& plan) {
  return out << plan.to_string();
}
std::ostream& operator<<(std::ostream& out, const PairCount& pairs) {
  return out << pairs.to_string();
}

}  // namespace octet::quant
