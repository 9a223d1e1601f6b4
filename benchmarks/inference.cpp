// Inference of a network of the zoo, in images a second.
#include <cstdio>
#include <exception>

#include "timing.h"

namespace octet::bench {
namespace {

void run(const Arguments& a) {
  const Model model = zoo::make(a.model);
  const Model net = a.mode == "int8" ? quantized(model) : model.clone();
  if (!a.write.empty()) (void)io::export_onnx(net, a.write);
  const Tensor x = images(net, a.batch);
  report(a, operations(model) * static_cast<double>(a.batch),
         [&] { (void)net.predict(x); });
}

}  // namespace
}  // namespace octet::bench

int main(int argc, char** argv) {
  try {
    octet::bench::run(octet::bench::read_arguments(
        argc, argv, "Inference of a network of the zoo.", {"fp32", "int8"},
        true));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "inference: %s\n", error.what());
    return 1;
  }
  return 0;
}
