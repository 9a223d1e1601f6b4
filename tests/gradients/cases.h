// One case an op and shape: the op, its reference in doubles, its inputs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reference.h"

namespace octet {

struct GradientCase {
  std::string name;
  std::vector<Shape> inputs;
  std::function<Variable(const std::vector<Variable>&)> op;
  std::function<reference::Array(const std::vector<reference::Array>&)>
      reference;
};

std::vector<GradientCase> gradient_cases();

}  // namespace octet
