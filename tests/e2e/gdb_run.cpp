// Values for tests/e2e/gdb_printers.sh, which stops at show().
#include <octet/runtime/ops.h>

#include "runtime/autograd/node.h"

using octet::Shape;
using octet::Tensor;
using octet::Variable;

[[gnu::noinline]] static void show(const Shape& shape, const Tensor& floats,
                                   const Tensor& bytes, const Tensor& none,
                                   const Variable& leaf,
                                   const octet::autograd::Node* node) {
  asm volatile("" : : "r"(&shape), "r"(&floats), "r"(&bytes), "r"(&none));
  asm volatile("" : : "r"(&leaf), "r"(node));
}

int main() {
  const Shape shape{Shape::kAnySize, 3};
  const Tensor floats = Tensor::of<float>({2, 2}, {1, -2.5f, 3, 1e10f});
  const Tensor bytes = Tensor::of<int8_t>({3}, {-128, 0, 127});
  const Variable leaf(floats, true);
  show(shape, floats, bytes, Tensor(), leaf, leaf.node().get());
  return 0;
}
