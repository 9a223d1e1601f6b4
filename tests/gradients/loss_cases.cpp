#include <cmath>

#include "cases.h"

namespace octet {
namespace {

using reference::Array;
using Arrays = std::vector<Array>;
using Variables = std::vector<Variable>;

void add_softmax(std::vector<GradientCase>& cases) {
  for (const Shape& x : {Shape{1, 1}, Shape{3, 10}, Shape{2, 3, 17}}) {
    cases.push_back({"softmax",
                     dims(x),
                     {x},
                     [](const Variables& v) { return softmax(v[0]); },
                     [](const Arrays& a) { return reference::softmax(a[0]); }});
  }
  for (const Shape& x : {Shape{1, 1}, Shape{3, 5, 2}}) {
    cases.push_back(
        {"penalty",
         dims(x),
         {x},
         [](const Variables& v) { return penalty(v[0], 0.25f, 1.5f); },
         [](const Arrays& a) {
           Array y(Shape{});
           for (const double v : a[0].values) {
             y[0] += 0.25 * std::fabs(v) + 1.5 * v * v;
           }
           return y;
         }});
  }
  for (const Shape& x : {Shape{1, 2}, Shape{5, 10}, Shape{3, 17}}) {
    std::vector<int64_t> labels;
    for (int64_t i = 0; i < x[0]; ++i) labels.push_back((7 * i + 1) % x[1]);
    cases.push_back({"softmax_cross_entropy",
                     dims(x),
                     {x},
                     [labels, n = x[0]](const Variables& v) {
                       return softmax_cross_entropy(
                           v[0], Tensor::of<int64_t>({n}, labels));
                     },
                     [labels](const Arrays& a) {
                       return reference::softmax_cross_entropy(a[0], labels);
                     }});
  }
}

}  // namespace

void add_loss_cases(std::vector<GradientCase>& cases) { add_softmax(cases); }

}  // namespace octet
