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

/// A mask [n,t] with masked steps at both ends and between; the second sample
/// is masked completely.
std::vector<float> mask_of(const Sequence& s) {
  std::vector<float> mask;
  for (int64_t i = 0; i < s.n; ++i) {
    for (int64_t k = 0; k < s.steps; ++k) {
      mask.push_back(i != 1 && (i + k) % 3 != 0 ? 1.0f : 0.0f);
    }
  }
  return mask;
}

/// Cases with a mask, initial states, and the cell states of an LSTM.
void add_inputs(std::vector<GradientCase>& cases, const Sequence& s,
                RecurrentOptions o) {
  const Shape state{s.n, s.units};
  const std::vector<float> mask = mask_of(s);
  const Tensor given = Tensor::of<float>({s.n, s.steps}, mask);
  for (const bool masked : {false, true}) {
    const auto values = masked ? mask : std::vector<float>();
    const std::string name = text(s, o) + (masked ? "_masked" : "") + "_state";
    const auto more = [=](const Variable& h, const Variable& c) {
      return RecurrentInputs{masked ? Variable(given) : Variable(), h, c};
    };
    for (const bool cells : {false, true}) {
      RecurrentOptions with = o;
      with.return_cell = cells;
      cases.push_back(
          {"lstm",
           name + (cells ? "_cells" : ""),
           {{s.n, s.steps, 4 * s.units}, {s.units, 4 * s.units}, state, state},
           [=](const Variables& v) {
             return lstm(v[0], v[1], with, more(v[2], v[3]));
           },
           [=](const Arrays& a) {
             return reference::lstm(a[0], a[1], with, {values, &a[2], &a[3]});
           }});
    }
    for (const bool after : {true, false}) {
      RecurrentOptions with = o;
      with.reset_after = after;
      cases.push_back(
          {"gru",
           name + (after ? "" : "_reset_before"),
           {{s.n, s.steps, 3 * s.units}, {s.units, 3 * s.units}, state},
           [=](const Variables& v) {
             return gru(v[0], v[1], {}, with, more(v[2], {}));
           },
           [=](const Arrays& a) {
             return reference::gru(a[0], a[1], nullptr, with, {values, &a[2]});
           }});
    }
    cases.push_back(
        {"simple_rnn",
         name,
         {{s.n, s.steps, s.units}, {s.units, s.units}, state},
         [=](const Variables& v) {
           return simple_rnn(v[0], v[1], o, more(v[2], {}));
         },
         [=](const Arrays& a) {
           return reference::simple_rnn(a[0], a[1], o, {values, &a[2]});
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
      // Many states amplify rounding from step to step, from an initial state
      // more than from zeros.
      const bool grows = o.activation == CellFunction::relu || s.steps > 3;
      if (!grows || s.units <= 3) {
        add_inputs(cases, s, o);
      }
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
