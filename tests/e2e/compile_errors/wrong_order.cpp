// says: filters.*does not match declaration order|designators must be in
// order|reorder-init-list
#include <octet/octet.h>

octet::Conv2D layer() {
  return octet::Conv2D({.kernel_size = 3, .filters = 8});
}
