#include <fmt/format.h>

#include "cases.h"

namespace octet {
namespace {

using reference::Array;
using Arrays = std::vector<Array>;
using Variables = std::vector<Variable>;

struct Sequence {
  int64_t n, steps, units;
};

// Batches of one task and of several, single steps, units beyond a vector.
const std::vector<Sequence>& recurrent_sizes() {
  static const std::vector<Sequence> sizes = {
      {1, 1, 1}, {3, 5, 3}, {1, 7, 17}, {17, 2, 3}, {2, 3, 33}};
  return sizes;
}

// The functions of cells, and both directions.
std::vector<RecurrentOptions> recurrent_options() {
  using enum CellFunction;
  return {{},
          {.backwards = true},
          {.activation = relu, .recurrent_activation = hard_sigmoid},
          {.activation = linear,
           .recurrent_activation = hard_sigmoid_v2,
           .backwards = true}};
}

std::string text(const Sequence& s, const RecurrentOptions& o) {
  return fmt::format(
      "{}x{}x{}_f{}_g{}{}{}", s.n, s.steps, s.units,
      static_cast<int>(o.activation), static_cast<int>(o.recurrent_activation),
      o.backwards ? "_backwards" : "", o.reset_after ? "" : "_reset_before");
}

void add_gru(std::vector<GradientCase>& cases, const Sequence& s,
             RecurrentOptions o) {
  const Shape x{s.n, s.steps, 3 * s.units};
  const Shape kernel{s.units, 3 * s.units};
  cases.push_back(
      {"gru",
       text(s, o),
       {x, kernel, {3 * s.units}},
       [o](const Variables& v) { return gru(v[0], v[1], v[2], o); },
       [o](const Arrays& a) { return reference::gru(a[0], a[1], &a[2], o); }});
  for (const bool after : {true, false}) {
    o.reset_after = after;
    cases.push_back({"gru",
                     text(s, o) + "_no_bias",
                     {x, kernel},
                     [o](const Variables& v) { return gru(v[0], v[1], {}, o); },
                     [o](const Arrays& a) {
                       return reference::gru(a[0], a[1], nullptr, o);
                     }});
  }
}

}  // namespace

void add_recurrent_cases(std::vector<GradientCase>& cases) {
  for (const Sequence& s : recurrent_sizes()) {
    for (const RecurrentOptions& o : recurrent_options()) {
      // Many unbounded states grow by orders of magnitude.
      if (o.activation == CellFunction::linear && s.units > 3) continue;
      cases.push_back(
          {"lstm",
           text(s, o),
           {{s.n, s.steps, 4 * s.units}, {s.units, 4 * s.units}},
           [o](const Variables& v) { return lstm(v[0], v[1], o); },
           [o](const Arrays& a) { return reference::lstm(a[0], a[1], o); }});
      add_gru(cases, s, o);
      cases.push_back(
          {"simple_rnn",
           text(s, o),
           {{s.n, s.steps, s.units}, {s.units, s.units}},
           [o](const Variables& v) { return simple_rnn(v[0], v[1], o); },
           [o](const Arrays& a) {
             return reference::simple_rnn(a[0], a[1], o);
           }});
    }
  }
}

}  // namespace octet
