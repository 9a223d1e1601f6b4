// Loads a session file and runs it on a sample of zeros:
//
//   octet convert int8.onnx -o model.octet
//   small_program model.octet
//
// Links octet::session alone, statically; see docs/installation.md.
#include <chrono>
#include <cstdio>
#include <vector>

#include <octet/runtime/error.h>
#include <octet/session/session.h>

namespace {

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now() - start)
      .count();
}

octet::Tensor one_zero_sample(const octet::TensorSpec& input) {
  std::vector<int64_t> dims{1};
  for (const int64_t dim : input.shape.dims()) dims.push_back(dim);
  return octet::Tensor::zeros(octet::Shape(std::span<const int64_t>(dims)));
}

void run(const char* path) {
  const auto start = std::chrono::steady_clock::now();
  const octet::InferenceSession session =
      octet::load_session(path, {.threads = 1});
  const double load = milliseconds_since(start);
  std::vector<octet::Tensor> inputs;
  for (const octet::TensorSpec& input : session.inputs()) {
    inputs.push_back(one_zero_sample(input));
  }
  const auto first = std::chrono::steady_clock::now();
  const std::vector<octet::Tensor> outputs = session.run(inputs);
  std::printf("loaded in %.2f ms, first run %.2f ms\n", load,
              milliseconds_since(first));
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::printf("%s:", session.outputs()[i].name.c_str());
    for (const float value : outputs[i].f32()) std::printf(" %g", value);
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: small_program MODEL.octet\n");
    return 1;
  }
  try {
    run(argv[1]);
  } catch (const octet::Error& error) {
    std::fprintf(stderr, "small_program: %s\n", error.what());
    return 1;
  }
  return 0;
}
