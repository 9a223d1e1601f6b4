// says: takes several inputs as one list
#include <octet/octet.h>

octet::SymbolicTensor sum(octet::SymbolicTensor x, octet::SymbolicTensor y) {
  return octet::Add()(x, y);
}
