#include <algorithm>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "cases.h"

namespace octet {
namespace {

using reference::Array;
using Arrays = std::vector<Array>;
using Variables = std::vector<Variable>;
using Values = std::vector<double>;

double sum_of(const Values& v) {
  return std::accumulate(v.begin(), v.end(), 0.0);
}
double mean_of(const Values& v) {
  return sum_of(v) / static_cast<double>(v.size());
}
double max_of(const Values& v) { return *std::ranges::max_element(v); }
double min_of(const Values& v) { return *std::ranges::min_element(v); }
double product_of(const Values& v) {
  return std::accumulate(v.begin(), v.end(), 1.0, std::multiplies<>());
}

struct Fold {
  const char* name;
  Variable (*all)(const Variable&);
  Variable (*some)(const Variable&, const std::vector<int>&, Keepdims);
  double (*fold)(const Values&);
};

constexpr Fold kFolds[] = {
    {"sum", sum, sum, sum_of},        {"mean", mean, mean, mean_of},
    {"max", max, max, max_of},        {"min", min, min, min_of},
    {"prod", prod, prod, product_of},
};

// `keepdims` changes only the shape.
Array shaped(Array a, const Shape& shape) {
  a.shape = shape;
  return a;
}

void add_over_axes(std::vector<GradientCase>& cases, const Fold& r,
                   const Shape& x, const std::vector<int>& axes) {
  std::string text;
  for (const int axis : axes) {
    text += fmt::format("{}{}", axis < 0 ? "m" : "", std::abs(axis));
  }
  for (const Keepdims keepdims : {Keepdims::no, Keepdims::yes}) {
    cases.push_back(
        {r.name,
         fmt::format("{}_over{}{}", dims(x), text,
                     keepdims == Keepdims::yes ? "_kept" : ""),
         {x},
         [=](const Variables& v) { return r.some(v[0], axes, keepdims); },
         [=](const Arrays& a) {
           Array y = reference::reduce(a[0], axes, r.fold);
           if (keepdims == Keepdims::yes) return y;
           Shape all = x;
           for (const int axis : axes) all = all.with(axis, 0);
           std::vector<int64_t> kept;
           for (const int64_t dim : all.dims()) {
             if (dim > 0) kept.push_back(dim);
           }
           return shaped(y, Shape(std::span<const int64_t>(kept)));
         }});
  }
}

void add_reduction(std::vector<GradientCase>& cases, const Fold& r) {
  const auto over = [&](const Shape& x, const std::vector<int>& axes) {
    add_over_axes(cases, r, x, axes);
  };
  for (const int64_t c : {1, 3, 17}) over({2, 5, 4, c}, {1, 2});
  over({1, 7, 9, 33}, {2, 1});
  over({2, 3, 4, 5}, {0, 2});
  over({2, 3, 4, 5}, {1, -1});
  over({2, 3, 4, 5}, {0, 1, 2});
  over({4, 19}, {-1});
  over({70, 3}, {0});
  over({2, 3, 5}, {1});
  over({6}, {0});
  cases.push_back(
      {r.name,
       "of_all",
       {{2, 3, 5, 7}},
       [=](const Variables& v) { return r.all(v[0]); },
       [=](const Arrays& a) {
         return shaped(reference::reduce(a[0], {0, 1, 2, 3}, r.fold), {});
       }});
  cases.push_back(
      {r.name,
       "of_relu",
       {{2, 4, 3, 17}, {17}},
       [=](const Variables& v) {
         return r.some(relu(bias_add(v[0], v[1])), {1, 2}, Keepdims::no);
       },
       [=](const Arrays& a) {
         const Array h =
             reference::relu(reference::bias_add(a[0], a[1]), 1e300);
         return shaped(reference::reduce(h, {1, 2}, r.fold), {2, 17});
       }});
}

}  // namespace

void add_reduction_cases(std::vector<GradientCase>& cases) {
  for (const Fold& r : kFolds) add_reduction(cases, r);
}

}  // namespace octet
