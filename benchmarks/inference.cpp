// Benchmark of inference, in images per second.
#include <cstdio>
#include <exception>
#include <utility>

#include "timing.h"

namespace octet::bench {
namespace {

struct Workload {
  InferenceSession session;
  Shape image;
  double operations = 0;  // per image
};

// Creates or loads the network, writes it if requested, and compiles it; only
// the session remains in memory.
Workload make_workload(const Arguments& a) {
  Model net = !a.load.empty()    ? io::load_model(a.load)
              : a.mode == "int8" ? quantized(a.model)
                                 : network(a.model);
  if (a.write.ends_with(".h5")) {
    io::save_model(net, a.write);
  } else if (!a.write.empty()) {
    (void)io::export_onnx(net, a.write);
  }
  const Shape in = net.inputs()[0].shape();
  const double count = operations(net);
  return {InferenceSession(std::move(net)), in.slice(1, in.rank()), count};
}

void run(const Arguments& a) {
  const Workload workload = make_workload(a);
  const Tensor x = images(workload.image, a.batch);
  report(a, workload.operations * static_cast<double>(a.batch),
         [&] { (void)workload.session.run(x); });
}

}  // namespace
}  // namespace octet::bench

int main(int argc, char** argv) {
  try {
    octet::bench::run(octet::bench::read_arguments(
        argc, argv, "Measures inference of a network.", {"fp32", "int8"},
        true));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "inference: %s\n", error.what());
    return 1;
  }
  return 0;
}
