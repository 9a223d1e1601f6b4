#include "random_samples.h"

#include <octet/layers/embedding.h>
#include <octet/quant/calibrate.h>
#include <octet/runtime/rng.h>

#include "silence.h"

namespace octet::program {

std::vector<Tensor> random_samples(const Model& model, int64_t n) {
  return random_inputs(model, n, 0, 1, Rng(2));
}

void calibrate_on_noise(Model& model) {
  const std::vector<Tensor> samples = random_samples(model, 1);
  const std::vector<Variable> x(samples.begin(), samples.end());
  const Silence silence;
  (void)quant::calibrate(model, [&](const Model& m) { (void)m(x); });
}

}  // namespace octet::program
