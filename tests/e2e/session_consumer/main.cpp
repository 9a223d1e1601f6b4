// Writes a session file, loads it and compares the outputs.
#include <iostream>

#include <octet/layers/layers.h>
#include <octet/runtime/rng.h>
#include <octet/runtime/system.h>
#include <octet/session/session.h>

int main() {
  using namespace octet;
  const auto x = input({6, 5, 3}, "image");
  const Model model(x, Dense({.units = 2})(Flatten()(ReLU()(
                           Conv2D({.filters = 4, .kernel_size = 3})(x)))));
  save_session(model, "net.octet");
  const InferenceSession session = load_session("net.octet");
  Tensor image({2, 6, 5, 3});
  Rng(1).fill_uniform(image, -1, 1);
  const Tensor expected = model.predict(image);
  const Tensor y = session.run(image);
  for (size_t i = 0; i < y.f32().size(); ++i) {
    if (y.f32()[i] != expected.f32()[i]) return 1;
  }
  std::cout << "octet " << version() << ": " << session.inputs()[0].name
            << '\n';
  return 0;
}
