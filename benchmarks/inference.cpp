// Benchmark of inference with a zoo network, in images per second.
#include <cstdio>
#include <exception>

#include "timing.h"

namespace octet::bench {
namespace {

// Creates or loads the network, writes it if requested, and compiles it; only
// the session remains in memory. Sets `per_image` to the operations per image.
InferenceSession make_session(const Arguments& a, double& per_image) {
  const Model net = !a.load.empty()    ? io::load_model(a.load)
                    : a.mode == "int8" ? quantized(a.model)
                                       : zoo::make(a.model);
  per_image = operations(net);
  if (a.write.ends_with(".h5")) {
    io::save_model(net, a.write);
  } else if (!a.write.empty()) {
    (void)io::export_onnx(net, a.write);
  }
  return InferenceSession(net);
}

void run(const Arguments& a) {
  double per_image = 0;
  const InferenceSession session = make_session(a, per_image);
  const Tensor x = images(zoo::entry(a.model).input, a.batch);
  report(a, per_image * static_cast<double>(a.batch),
         [&] { (void)session.run(x); });
}

}  // namespace
}  // namespace octet::bench

int main(int argc, char** argv) {
  try {
    octet::bench::run(octet::bench::read_arguments(
        argc, argv, "Measures inference of a zoo network.", {"fp32", "int8"},
        true));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "inference: %s\n", error.what());
    return 1;
  }
  return 0;
}
