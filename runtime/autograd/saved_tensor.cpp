#include "saved_tensor.h"

#include <octet/runtime/error.h>

namespace octet::autograd {

void SavedTensor::refuse() {
  throw ValueError("invalid_state", "variable",
                   "was modified by assign(), mutable_value() or an optimizer "
                   "step after the forward pass, whose values are still "
                   "needed. Hint: modify it after backward() (without "
                   "backward(), after value()), or run the forward pass again");
}

}  // namespace octet::autograd
