#include "random_samples.h"

#include <octet/quant/calibrate.h>
#include <octet/runtime/rng.h>

#include "silence.h"

namespace octet::program {

std::vector<Tensor> random_samples(const Model& model, int64_t n) {
  std::vector<Tensor> samples;
  Rng rng(2);
  for (const SymbolicTensor& input : model.inputs()) {
    Tensor& x = samples.emplace_back(input.shape().with(0, n));
    rng.fill_uniform(x, 0, 1);
  }
  return samples;
}

void calibrate_on_noise(Model& model) {
  const std::vector<Tensor> samples = random_samples(model, 1);
  const std::vector<Variable> x(samples.begin(), samples.end());
  const Silence silence;
  (void)quant::calibrate(model, [&](const Model& m) { (void)m(x); });
}

}  // namespace octet::program
