#include <fmt/format.h>

#include "cases.h"

namespace octet {
namespace {

using reference::Array;
using Arrays = std::vector<Array>;
using Variables = std::vector<Variable>;

const Rng& fixed_rng() {
  static const Rng rng(11);
  return rng;
}

// Dropout multiplies x by the dropout of ones.
void add_dropout(std::vector<GradientCase>& cases) {
  const auto add = [&](const Shape& x, const Shape& noise, float rate) {
    const Tensor mask =
        dropout(Variable(Tensor::full(x, 1)), rate, fixed_rng(), noise).value();
    cases.push_back({"dropout",
                     fmt::format("{}_noise{}_{}", dims(x), dims(noise),
                                 static_cast<int>(rate * 100)),
                     {x},
                     [=](const Variables& v) {
                       return x == noise
                                  ? dropout(v[0], rate, fixed_rng())
                                  : dropout(v[0], rate, fixed_rng(), noise);
                     },
                     [=](const Arrays& a) {
                       Array y = a[0];
                       for (int64_t i = 0; i < y.size(); ++i) {
                         y[i] *= mask.f32()[static_cast<size_t>(i)];
                       }
                       return y;
                     }});
  };
  for (const Shape& x : pointwise_shapes()) add(x, x, 0.25f);
  add({2, 3, 5, 17}, {2, 1, 1, 17}, 0.5f);
  add({2, 3, 5, 3}, {2, 3, 5, 1}, 0.5f);
  add({6, 4}, {1, 4}, 0.5f);
  add({3, 4}, {3, 4}, 0);
}

void add_gaussian_noise(std::vector<GradientCase>& cases) {
  for (const Shape& x : pointwise_shapes()) {
    const Tensor noise =
        gaussian_noise(Variable(Tensor::zeros(x)), 0.5f, fixed_rng()).value();
    cases.push_back({"gaussian_noise",
                     dims(x),
                     {x},
                     [](const Variables& v) {
                       return gaussian_noise(v[0], 0.5f, fixed_rng());
                     },
                     [noise](const Arrays& a) {
                       return reference::add(a[0], Array(noise));
                     }});
  }
}

}  // namespace

void add_random_cases(std::vector<GradientCase>& cases) {
  add_dropout(cases);
  add_gaussian_noise(cases);
}

}  // namespace octet
