#include "cases.h"

namespace octet {
namespace {

using reference::Array;
using Arrays = std::vector<Array>;
using Variables = std::vector<Variable>;

void add_batch_norm(std::vector<GradientCase>& cases) {
  for (const Shape& x : pointwise_shapes()) {
    const Shape c{x[-1]};
    cases.push_back({"batch_norm_training",
                     dims(x),
                     {x, c, c},
                     [](const Variables& v) {
                       Tensor mean = Tensor::zeros(v[1].shape());
                       Tensor variance = Tensor::full(v[1].shape(), 1);
                       return batch_norm_training(v[0], v[1], v[2], mean.f32(),
                                                  variance.f32(), 0.9f, 1e-2f);
                     },
                     [](const Arrays& a) {
                       return reference::batch_norm_training(a[0], a[1], a[2],
                                                             1e-2f);
                     }});
    cases.push_back({"batch_norm",
                     dims(x),
                     {x, c, c},
                     [](const Variables& v) {
                       return batch_norm(v[0], v[1], v[2],
                                         Tensor::full(v[1].shape(), 0.25f),
                                         Tensor::full(v[1].shape(), 2), 1e-2f);
                     },
                     [](const Arrays& a) {
                       Array mean(a[1].shape);
                       Array variance(a[1].shape);
                       for (double& m : mean.values) m = 0.25;
                       for (double& v : variance.values) v = 2;
                       return reference::batch_norm(a[0], a[1], a[2], mean,
                                                    variance, 1e-2f);
                     }});
  }
}

void add_layer_norm(std::vector<GradientCase>& cases) {
  for (const Shape& x :
       {Shape{1, 1}, Shape{5}, Shape{3, 17}, Shape{2, 3, 5, 7}, Shape{37, 3}}) {
    const Shape c{x[-1]};
    cases.push_back(
        {"layer_norm",
         dims(x),
         {x, c, c},
         [](const Variables& v) { return layer_norm(v[0], v[1], v[2], 1e-2f); },
         [](const Arrays& a) {
           return reference::layer_norm(a[0], a[1], a[2], 1e-2f);
         }});
  }
  cases.push_back(
      {"layer_norm",
       "alone",
       {Shape{3, 5}},
       [](const Variables& v) { return layer_norm(v[0], {}, {}, 1e-2f); },
       [](const Arrays& a) {
         const Array zero(Shape{5});
         Array one(Shape{5});
         for (double& v : one.values) v = 1;
         return reference::layer_norm(a[0], one, zero, 1e-2f);
       }});
}

}  // namespace

void add_normalization_cases(std::vector<GradientCase>& cases) {
  add_layer_norm(cases);
  add_batch_norm(cases);
}

}  // namespace octet
