#include "kept.h"

#include <octet/runtime/error.h>

namespace octet::autograd {

void Kept::refuse() {
  throw ValueError(
      "written between forward and backward: expected the values that the "
      "forward pass read, got newer ones from assign(), mutable_value() or an "
      "optimizer's step(). Hint: write after backward() (after value(), where "
      "there is none), or run the forward pass again");
}

}  // namespace octet::autograd
