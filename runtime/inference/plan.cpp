#include "plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "../byte_codes.h"
#include "pool_codes.h"

namespace octet::inference {
namespace {

using autograd::Factor;
using autograd::kInfinity;
using kernels::Stored;

class Planner {
 public:
  explicit Planner(Graph graph) : graph_(std::move(graph)) {}

  Program::Plan run() {
    pool_codes(graph_);
    do {
      collect();
    } while (unfuse());
    skip_pixels();
    for (Storage& s : plan_.storages) s.lay_out();
    spread();
    emit();
    place_storages(plan_);
    return std::move(plan_);
  }

 private:
  // Which values are stored, in which forms.
  void collect();
  int need(int value, Stored form, const Pads& pads, bool tensor);
  // Where that is, or -1.
  int find(int value, Stored form, bool tensor) const;
  // Expressions that compete for the same sums, or want too many outputs, are
  // evaluated by themselves. Whether there were any.
  bool unfuse();
  int plain_of(int value);
  // What a call reads of an expression that it may go on with.
  int term_of(int value) const {
    const Value& v = at(graph_.values, value);
    if (v.pointwise < 0 || !v.grid.empty()) return value;
    const Pointwise& p = at(graph_.pointwise, v.pointwise);
    return p.e.affine() && p.expression_only() ? p.first : value;
  }
  Stored floats_of(int value) const {
    return at(graph_.values, value).grid.empty() ? Stored::values
                                                 : Stored::real;
  }
  Stored form_of(const LinearCall& call, int x) const;
  // As the first linear op reads them, or, where none does, as any could.
  Stored code_form_of(int value) const;

  // Leaves out what fused steps would store and nobody reads: all pixels but
  // some, where only convolutions with a stride and windows of one pixel
  // follow.
  void skip_pixels();
  // What follows the sums of a call as they are complete.
  std::vector<int> followers(const Call& call) const;
  // Lays pixels apart that fused steps store.
  void spread();
  void emit();
  void emit_call(int call);
  FusedStep emit_fused(const Call& call, int pointwise);
  void emit_evaluations(int after);
  std::string why_not_fused(const Pointwise& p) const;

  Graph graph_;
  Program::Plan plan_;
  std::set<int> unfused_;                      // expressions
  std::map<int, std::vector<int>> followers_;  // expressions, of sums
  std::vector<std::vector<int>> outputs_;      // storages of each expression
  std::vector<int> others_;                    // and what is added, where fused
  std::vector<std::vector<int>> reads_;        // storages of each call
  std::vector<bool> read_;                     // whether its output is read
};

Stored Planner::form_of(const LinearCall& call, int x) const {
  switch (call.factor) {
    case Factor::codes:
      return call.kernels->code_table.form;
    case Factor::float_codes:
      return Stored::float_codes;
    default:
      return floats_of(x);
  }
}

Stored Planner::code_form_of(int value) const {
  for (const Call& call : graph_.calls) {
    if (call.linear && call.linear->factor == Factor::codes &&
        call.inputs[0] == value) {
      return call.linear->kernels->code_table.form;
    }
  }
  return kernels::table().codes.form;
}

int Planner::plain_of(int value) {
  const int i = graph_.plain(value);
  outputs_.resize(graph_.pointwise.size());
  others_.resize(graph_.pointwise.size(), -1);
  return i;
}

// `a` and `b` one around the other.
Pads sum(const Pads& a, const Pads& b) {
  return {a.top + b.top, a.bottom + b.bottom, a.left + b.left,
          a.right + b.right};
}

void Planner::collect() {
  plan_ = {};
  outputs_.assign(graph_.pointwise.size(), {});
  others_.assign(graph_.pointwise.size(), -1);
  reads_.clear();
  read_ = graph_.read_calls();
  for (size_t i = 0; i < graph_.calls.size(); ++i) {
    const Call& call = graph_.calls[i];
    std::vector<int> reads;
    for (const int input : call.inputs) {
      if (!read_[i]) continue;
      if (call.pool) {
        reads.push_back(
            need(input, code_form_of(call.output), call.pads, false));
        continue;
      }
      reads.push_back(
          call.linear
              ? need(input, form_of(*call.linear, input),
                     sum(call.linear->kernels->padding(), call.pads), false)
              : need(term_of(input), floats_of(term_of(input)), {}, true));
    }
    reads_.push_back(std::move(reads));
    if (!call.linear && !call.pool && read_[i]) {
      (void)need(call.output, Stored::values, {}, true);
    }
  }
  for (const int input : graph_.inputs) {
    plan_.inputs.push_back(need(input, Stored::values, {}, true));
  }
  for (const int output : graph_.outputs) {
    const int storage = need(output, floats_of(output), {}, true);
    const Value& v = at(graph_.values, output);
    plan_.direct.push_back((v.sums || v.pointwise >= 0) &&
                           std::ranges::find(plan_.outputs, storage) ==
                               plan_.outputs.end());
    plan_.outputs.push_back(storage);
  }
}

int Planner::find(int value, Stored form, bool tensor) const {
  const auto found = std::ranges::find_if(plan_.storages, [&](const auto& s) {
    return s.value == value && s.form == form && s.tensor == tensor;
  });
  return found == plan_.storages.end()
             ? -1
             : static_cast<int>(found - plan_.storages.begin());
}

int Planner::need(int value, Stored form, const Pads& pads, bool tensor) {
  const Value v = at(graph_.values, value);
  const bool whole = v.pointwise < 0 && !v.sums;  // an input's, or a call's
  if (whole && form == Stored::values && pads == Pads{}) tensor = true;
  if (const int found = find(value, form, tensor); found >= 0) {
    Pads& widest = at(plan_.storages, found).pads;
    widest.top = std::max(widest.top, pads.top);
    widest.bottom = std::max(widest.bottom, pads.bottom);
    widest.left = std::max(widest.left, pads.left);
    widest.right = std::max(widest.right, pads.right);
    return found;
  }
  const kernels::Table& table = kernels::table();
  const int storage = static_cast<int>(plan_.storages.size());
  plan_.storages.push_back(
      {.value = value,
       .form = form,
       .pads = pads,
       .tensor = tensor,
       .zero_byte = zero_byte(v.grid, table.codes_in(form)),
       .int8 = fits_int8(v.grid),
       .shape = v.shape});
  if ((whole && tensor) || v.codes) return storage;
  const int i = v.pointwise >= 0 ? v.pointwise : plain_of(value);
  at(outputs_, i).push_back(storage);
  if (at(outputs_, i).size() > 1) return storage;
  const Pointwise p = at(graph_.pointwise, i);
  if (!p.fusable || unfused_.contains(i)) {
    (void)need(p.first, floats_of(p.first), {}, true);
    for (const int also : {p.second, p.multiplier}) {
      if (also >= 0) (void)need(also, floats_of(also), {}, true);
    }
  } else if (p.other >= 0) {
    const bool codes = !at(graph_.values, p.other).grid.empty();
    at(others_, i) = need(
        p.other, codes ? code_form_of(p.other) : Stored::values, {}, false);
  }
  return storage;
}

bool Planner::unfuse() {
  const size_t before = unfused_.size();
  followers_.clear();
  for (size_t i = 0; i < graph_.pointwise.size(); ++i) {
    const Pointwise& p = graph_.pointwise[i];
    const int id = static_cast<int>(i);
    if (outputs_[i].empty() || !p.fusable || unfused_.contains(id)) continue;
    followers_[p.sums].push_back(id);
  }
  for (const auto& [sums, list] : followers_) {
    for (const int i : list) {
      if (at(graph_.pointwise, i).plain()) continue;
      if (list.size() > 1 ||
          at(outputs_, i).size() > size_t{kernels::kMostFusedOutputs}) {
        unfused_.insert(i);
      }
    }
  }
  return unfused_.size() > before;
}

std::vector<int> Planner::followers(const Call& call) const {
  const auto found = followers_.find(call.output);
  return found == followers_.end() ? std::vector<int>() : found->second;
}

void Planner::skip_pixels() {
  // Each so many pixels of a storage are read; 0: none yet is.
  std::vector<Size2> read(plan_.storages.size(), {0, 0});
  const auto add = [](Size2& all, const Size2& more) {
    all = {std::gcd(all.h, more.h), std::gcd(all.w, more.w)};
  };
  for (size_t i = 0; i < plan_.storages.size(); ++i) {
    if (plan_.storages[i].tensor) read[i] = {1, 1};
  }
  for (size_t i = graph_.calls.size(); i-- > 0;) {
    const Call& call = graph_.calls[i];
    if (!call.linear) {
      for (const int storage : reads_[i]) at(read, storage) = {1, 1};
      continue;
    }
    const LinearKernels& kernels = *call.linear->kernels;
    const auto sampling = kernels.sampling();
    const bool pixels = sampling && sampling->pixels && call.pads == Pads{} &&
                        kernels.padding() == Pads{};
    for (const int follower : followers(call)) {
      Size2 every{0, 0};  // of all that the step stores
      for (const int output : at(outputs_, follower)) {
        add(every, at(read, output));
      }
      if (!sampling || every.h == 0) every = {1, 1};
      for (const int output : at(outputs_, follower)) {
        at(plan_.storages, output).every = every;
      }
      const int other = at(others_, follower);
      if (other >= 0) add(at(read, other), every);
      add(at(read, reads_[i][0]), pixels ? Size2{every.h * sampling->strides.h,
                                                 every.w * sampling->strides.w}
                                         : Size2{1, 1});
    }
  }
}

void Planner::spread() {
  for (const auto& [sums, list] : followers_) {
    for (const int i : list) {
      for (const int output : at(outputs_, i)) {
        at(plan_.storages, output).spread();
      }
    }
  }
}

void Planner::emit() {
  plan_.table = &kernels::table();
  emit_evaluations(-1);
  for (size_t i = 0; i < graph_.calls.size(); ++i) {
    emit_call(static_cast<int>(i));
    emit_evaluations(static_cast<int>(i));
  }
}

void Planner::emit_call(int index) {
  Call& call = at(graph_.calls, index);
  if (!read_[static_cast<size_t>(index)]) return;
  if (call.linear) {
    for (const int follower : followers(call)) {
      plan_.steps.push_back({call.name, emit_fused(call, follower), {}});
    }
    return;
  }
  if (call.pool) {
    plan_.steps.push_back(
        {call.name,
         PoolStep{call.pool->sizes, call.pads, at(reads_, index)[0],
                  find(call.output, code_form_of(call.output), false)},
         {}});
    return;
  }
  CallStep step;
  step.function = std::move(call.function);
  step.inputs = at(reads_, index);
  step.affine = call.affine;
  for (const int input : call.inputs) {
    const Value& v = at(graph_.values, input);
    autograd::Expression e;
    if (term_of(input) != input) e = at(graph_.pointwise, v.pointwise).e;
    e.grid = v.grid;
    e.on_grid = !e.grid.empty();
    step.forms.push_back(std::move(e));
  }
  step.output = find(call.output, Stored::values, true);
  plan_.steps.push_back({call.name, std::move(step), {}});
}

// Pixels of a storage that keeps every `of`th one, to each `every` of its
// value: skip_pixels() makes it a whole number.
Size2 ratio(const Size2& every, const Size2& of) {
  if (every.h % of.h != 0 || every.w % of.w != 0) {
    throw InternalError("plan: expected pixels that are stored");
  }
  return {every.h / of.h, every.w / of.w};
}

FusedStep Planner::emit_fused(const Call& call, int index) {
  const Pointwise& p = at(graph_.pointwise, index);
  FusedStep step;
  step.linear = *call.linear;
  step.rescale = call.rescale;
  step.outputs = at(outputs_, index);
  step.other = at(others_, index);
  const int call_index = at(graph_.values, call.output).call;
  step.x = at(reads_, call_index)[0];
  const Storage& x = at(plan_.storages, step.x);
  const bool codes = step.linear.factor == Factor::codes;
  const int64_t unit =
      codes ? step.linear.kernels->code_table.codes_per_word : 1;
  step.windows =
      step.linear.kernels->windows(x.row / unit, x.pixel / unit, codes);
  const Storage& y = at(plan_.storages, step.outputs[0]);
  if (x.skips() || y.skips()) {
    const Size2 own = step.linear.kernels->sampling()->strides;
    const Size2 apart = ratio({own.h * y.every.h, own.w * y.every.w}, x.every);
    step.windows.pixel = step.windows.pixel / own.w * apart.w;
    step.windows.line = step.windows.line / own.h * apart.h;
  }
  step.pads = sum(step.linear.kernels->padding(), call.pads);
  step.rows = y.h;
  step.cols = y.w;
  step.channels = y.c;

  kernels::Fused& f = step.fused;
  f.terms = p.second >= 0 ? 2 : p.e.affine() && !p.e.first.scaled() ? 0 : 1;
  if (f.terms > 0) {
    step.a = p.a.empty() ? Tensor::full({y.c}, 1) : p.a;
    step.b = p.b.empty() ? Tensor::zeros({y.c}) : p.b;
    f.a = std::as_const(step.a).f32().data();
    f.b = std::as_const(step.b).f32().data();
  }
  f.low2 = p.low2;
  f.high2 = p.high2;
  if (!p.grid2.empty()) {
    f.quantize2 = true;
    f.scale2 = p.grid2.scale.item();
    f.code_low2 = static_cast<float>(p.grid2.low);
    f.code_high2 = static_cast<float>(p.grid2.high);
  }
  f.low = p.e.low;
  f.high = p.e.high;
  bool contiguous = !x.padded();
  if (step.other >= 0) {
    const Storage& other = at(plan_.storages, step.other);
    const Grid& grid = at(graph_.values, p.other).grid;
    f.other_form = other.form;
    step.other_every = ratio(y.every, other.every);
    f.other_pixel = other.pixel * step.other_every.w;
    f.other_line = other.row * step.other_every.h;
    if (!grid.empty()) f.other_scale = grid.scale.item();
    f.other_zero_byte = other.zero_byte;
    f.other_zero = p.other_plain ? 0.0f : -0.0f;
    contiguous &= !other.padded() && step.other_every == Size2{1, 1};
  }
  if (step.outputs.size() > size_t{kernels::kMostFusedOutputs}) {
    throw UnsupportedError(fmt::format(
        "'{}': expected sums that are stored in at most {} forms, got {}",
        call.name, kernels::kMostFusedOutputs, step.outputs.size()));
  }
  for (const int output : step.outputs) {
    const Storage& s = at(plan_.storages, output);
    kernels::FusedOutput& o = f.outputs[f.output_count++];
    o.form = s.form;
    o.pixel = s.pixel;
    o.line = s.row;
    o.zero_byte = s.zero_byte;
    const Grid& grid = at(graph_.values, s.value).grid;
    if (!grid.empty()) {
      o.scale = grid.scale.item();
      o.code_low = static_cast<float>(grid.low);
      o.code_high = static_cast<float>(grid.high);
    }
    contiguous &= !s.padded();
  }
  if (p.function) {
    f.activate = kernels::table().activate;
    f.function = *p.function;
  }
  kernels::table().prepare(f);
  step.flat = contiguous && step.windows.segments.size() == 1 &&
              step.windows.pixel == x.pixel / unit && x.h == y.h && x.w == y.w;
  for (const Tensor& panel : step.linear.weight.panels) {
    plan_.weights += panel.bytes();
  }
  return step;
}

std::string Planner::why_not_fused(const Pointwise& p) const {
  if (p.fusable) return "its sums are read in another way, too";
  if (p.sums >= 0) return "what is added is not there before the sums are";
  if (p.multiplier >= 0) return "multiplies by what is computed";
  if (p.after < 0) return "reads an input";
  if (p.second >= 0) return "adds what no linear op computed";
  return "reads what no linear op computed";
}

void Planner::emit_evaluations(int after) {
  for (size_t i = 0; i < graph_.pointwise.size(); ++i) {
    const Pointwise& p = graph_.pointwise[i];
    if (p.after != after) continue;
    if (p.fusable && !unfused_.contains(static_cast<int>(i))) continue;
    for (const int output : outputs_[i]) {
      EvaluateStep step;
      step.why = why_not_fused(p);
      step.e = p.e;
      step.function = p.function;
      step.e.grid = at(graph_.values, at(plan_.storages, output).value).grid;
      step.e.on_grid = false;  // bytes are made of what is there, too
      step.first = find(p.first, floats_of(p.first), true);
      if (p.second >= 0) {
        step.second = find(p.second, floats_of(p.second), true);
      }
      if (p.multiplier >= 0) {
        step.multiplier = find(p.multiplier, floats_of(p.multiplier), true);
      }
      step.output = output;
      plan_.steps.push_back({"", std::move(step), {}});
    }
  }
}

}  // namespace

Program::Plan make_plan(Graph graph) { return Planner(std::move(graph)).run(); }

}  // namespace octet::inference
