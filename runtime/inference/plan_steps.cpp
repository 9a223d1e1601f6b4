// Second part of the planner: emits steps.
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/detail/portable_program.h>
#include <octet/runtime/error.h>

#include "pixel_pairs.h"
#include "planner.h"

namespace octet::inference {
namespace {

using autograd::GemmType;
using kernels::StorageFormat;

// Returns the stride `every` in units of a storage that contains every `of`th
// pixel. skip_pixels() ensures a whole number.
Size2 ratio(const Size2& every, const Size2& of) {
  if (every.h % of.h != 0 || every.w % of.w != 0) {
    throw InternalError("internal", "plan", "a consumed pixel is not stored");
  }
  return {every.h / of.h, every.w / of.w};
}

// Stores factors of 1 and 0 that evaluators would allocate in every run.
void fill_factors(autograd::Expression& e) {
  if (!e.second && !e.first.scaled() && !e.clipped()) return;
  const Shape channels{autograd::ImageShape(e.shape).c};
  const auto fill = [&](autograd::Term& term) {
    if (term.a.empty()) term.a = Tensor::full(channels, 1);
    if (term.b.empty()) term.b = Tensor::zeros(channels);
  };
  fill(e.first);
  if (e.second) fill(*e.second);
}

// Shortens the epilogue of sums of few products; longer sums take much more
// time than it.
void set_requantization(FusedStep& step) {
  constexpr int64_t kFewProducts = 576;
  const LinearCall& linear = step.linear;
  if (linear.factor != GemmType::codes || linear.rescale.empty() ||
      linear.kernels->code_products() > kFewProducts) {
    return;
  }
  kernels::Epilogue e;
  e.rescale = linear.rescale.f32().data();
  e.fused = &step.fused;
  step.requantization =
      find_requantization(e, step.channels, linear.kernels->code_table);
  const auto& found = std::as_const(step.requantization);
  if (found.multiplier.empty()) return;
  step.fused.multiplier = found.multiplier.f32().data();
  step.fused.offset = found.offset.f32().data();
}

// Storages of an evaluation.
struct Access {
  std::vector<int> reads;
  int write;
};

Access access_of(const Step& step) {
  if (const auto* table = std::get_if<TableStep>(&step.what)) {
    return {{table->x}, table->output};
  }
  const auto& evaluate = std::get<EvaluateStep>(step.what);
  return {{evaluate.first, evaluate.second, evaluate.multiplier},
          evaluate.output};
}

// Returns the order in which evaluations precede the consumers of their
// results, otherwise the given order. Copies of the parts of a concatenation
// are planned last.
std::vector<size_t> in_order(const std::vector<Step>& steps,
                             const Program::Plan& plan) {
  std::unordered_map<int, std::vector<size_t>> writers;
  for (size_t i = 0; i < steps.size(); ++i) {
    writers[whole_of(plan.storages, access_of(steps[i]).write)].push_back(i);
  }
  std::vector<size_t> order;
  std::vector<bool> seen(steps.size());
  const auto visit = [&](const auto& self, size_t step) -> void {
    if (seen[step]) return;
    seen[step] = true;
    for (const int read : access_of(steps[step]).reads) {
      if (read < 0) continue;
      const auto found = writers.find(whole_of(plan.storages, read));
      if (found == writers.end()) continue;
      for (const size_t writer : found->second) self(self, writer);
    }
    order.push_back(step);
  };
  for (size_t i = 0; i < steps.size(); ++i) visit(visit, i);
  return order;
}

}  // namespace

void Planner::emit() {
  plan_.table = &kernels::table();
  // By the last call that they depend on, from -1 on.
  std::vector<std::vector<int>> ready(graph_.calls.size() + 1);
  for (size_t i = 0; i < graph_.pointwise.size(); ++i) {
    const Pointwise& p = graph_.pointwise[i];
    const int id = static_cast<int>(i);
    if (outputs_[i].empty() || (p.fusable && !unfused_.contains(id))) continue;
    at(ready, p.after + 1).push_back(id);
  }
  emit_evaluations(ready[0]);
  for (size_t i = 0; i < graph_.calls.size(); ++i) {
    emit_call(static_cast<int>(i));
    emit_evaluations(ready[i + 1]);
  }
}

void Planner::emit_call(int index) {
  Call& call = at(graph_.calls, index);
  if (!read_[static_cast<size_t>(index)]) return;
  if (call.linear) {
    for (const int follower : followers(call)) {
      plan_.steps.push_back(
          {call.name, call.op, emit_fused(call, follower), {}});
    }
    return;
  }
  if (call.pool) {
    const bool maximum =
        std::holds_alternative<kernels::MaxPool>(call.pool->kind);
    for (const int output : pooled_[call.output]) {
      plan_.steps.push_back(
          {call.name,
           maximum ? "max_pool" : call.op,
           PoolStep{call.pool->kind, call.pads, at(reads_, index)[0], output},
           {}});
    }
    return;
  }
  const int output = find_buffer(call.output, StorageFormat::values, true);
  if (!call.layer) {
    plan_.steps.push_back({call.name,
                           call.op,
                           OpStep{.forward = std::move(call.forward),
                                  .attributes = std::move(call.attributes),
                                  .inputs = at(reads_, index),
                                  .output = output},
                           {}});
    return;
  }
  CallStep step{.layer = *call.layer,
                .inputs = at(reads_, index),
                .forms = {},
                .output = output};
  for (const int input : call.inputs) {
    const LoweredValue& v = at(graph_.values, input);
    autograd::Expression e;
    if (term_of(input) != input) e = at(graph_.pointwise, v.pointwise).e;
    e.qparams = v.qparams;
    e.already_quantized = !e.qparams.empty();
    step.forms.push_back(std::move(e));
  }
  plan_.steps.push_back({call.name, call.op, std::move(step), {}});
}

FusedStep Planner::emit_fused(const Call& call, int index) {
  const Pointwise& p = at(graph_.pointwise, index);
  FusedStep step;
  step.linear = *call.linear;
  step.outputs = at(outputs_, index);
  step.other = at(others_, index);
  const int call_index = at(graph_.values, call.output).call;
  step.x = at(reads_, call_index)[0];
  const Storage& x = at(plan_.storages, step.x);
  const bool codes = step.linear.factor == GemmType::codes;
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
  const Size2 upsampling = step.linear.kernels->upsampling();
  step.upsampling = upsampling.h;
  step.pads = sum(step.linear.kernels->padding(), call.pads);
  step.rows = y.h;
  step.cols = y.w;
  step.channels = y.c;

  kernels::FusedEpilogue& f = step.fused;
  f.terms = p.second >= 0 ? 2 : p.e.affine() && !p.e.first.scaled() ? 0 : 1;
  if (f.terms > 0) {
    step.a = p.a.empty() ? Tensor::full({y.c}, 1) : p.a;
    step.b = p.b.empty() ? Tensor::zeros({y.c}) : p.b;
    f.a = std::as_const(step.a).f32().data();
    f.b = std::as_const(step.b).f32().data();
  }
  f.low2 = p.low2;
  f.high2 = p.high2;
  if (!p.qparams2.empty()) {
    f.quantize2 = true;
    f.scale2 = p.qparams2.scale.item();
    f.code_low2 = static_cast<float>(p.qparams2.low);
    f.code_high2 = static_cast<float>(p.qparams2.high);
  }
  f.low = p.e.low;
  f.high = p.e.high;
  bool contiguous = !x.padded();
  if (step.other >= 0) {
    const Storage& other = at(plan_.storages, step.other);
    const QuantParams& qparams = at(graph_.values, p.other).qparams;
    f.other_form = other.form;
    step.other_every = ratio(y.every, other.every);
    f.other_pixel = other.pixel * step.other_every.w;
    f.other_line = other.row * step.other_every.h;
    if (!qparams.empty()) f.other_scale = qparams.scale.item();
    f.other_zero_byte = other.zero_byte;
    f.other_zero = p.other_plain ? 0.0f : -0.0f;
    contiguous &= !other.padded() && step.other_every == Size2{1, 1};
  }
  if (step.outputs.size() > size_t{kernels::kMostFusedOutputs}) {
    throw UnsupportedError(
        "unsupported_layer", fmt::format("'{}'", call.name),
        fmt::format("the output needs {} storage formats, at most {} are "
                    "supported",
                    step.outputs.size(), kernels::kMostFusedOutputs));
  }
  for (const int output : step.outputs) {
    const Storage& s = at(plan_.storages, output);
    kernels::FusedOutput& o = f.outputs[f.output_count++];
    o.form = s.form;
    o.pixel = s.pixel;
    o.line = s.row;
    o.zero_byte = s.zero_byte;
    const QuantParams& qparams = at(graph_.values, s.value).qparams;
    if (!qparams.empty()) {
      o.scale = qparams.scale.item();
      o.code_low = static_cast<float>(qparams.low);
      o.code_high = static_cast<float>(qparams.high);
    }
    contiguous &= !s.padded();
  }
  if (p.function) {
    f.activate = kernels::table().activate;
    f.function = *p.function;
  }
  kernels::table().prepare(f);
  step.flat = contiguous && upsampling == Size2{1, 1} &&
              step.windows.segments.size() == 1 &&
              step.windows.pixel == x.pixel / unit && x.h == y.h && x.w == y.w;
  // A recorded program describes single outputs.
  if (detail::active_recorder() == nullptr) pair_pixels(step, plan_.storages);
  set_requantization(step);
  for (const Tensor& panel : step.linear.weight.panels) {
    plan_.weights += panel.bytes();
  }
  return step;
}

std::string Planner::why_not_fused(const Pointwise& p) const {
  if (p.fusable) return "its input has other consumers";
  if (p.sums >= 0) return "the other operand is computed after the linear op";
  if (p.multiplier >= 0) return "the multiplier is computed";
  if (p.after < 0) return "consumes an input of the program";
  if (p.second >= 0) return "no operand is the output of a linear op";
  return "its input is not the output of a linear op";
}

int Planner::add_scratch(const Shape& shape) {
  Storage s;
  s.tensor = true;
  s.shape = shape;
  s.lay_out();
  plan_.storages.push_back(std::move(s));
  return static_cast<int>(plan_.storages.size()) - 1;
}

void Planner::emit_evaluations(const std::vector<int>& expressions) {
  std::vector<Step> steps;
  for (const int i : expressions) {
    const Pointwise& p = at(graph_.pointwise, i);
    for (const int output : at(outputs_, i)) {
      if (const auto found = tables_.find(output); found != tables_.end()) {
        steps.push_back({"", "look_up", std::move(found->second), {}});
        continue;
      }
      EvaluateStep step;
      step.why = why_not_fused(p);
      step.e = p.e;
      step.function = p.function;
      step.e.qparams =
          at(graph_.values, at(plan_.storages, output).value).qparams;
      step.e.already_quantized =
          false;  // quantized inputs are converted to bytes, too
      step.first = find_buffer(p.first, floats_of(p.first), true);
      if (p.second >= 0) {
        step.second = find_buffer(p.second, floats_of(p.second), true);
      }
      if (p.multiplier >= 0) {
        step.multiplier =
            find_buffer(p.multiplier, floats_of(p.multiplier), true);
      }
      step.output = output;
      if (step.function) step.scratch = add_scratch(step.e.shape);
      fill_factors(step.e);
      steps.push_back({"", "evaluate", std::move(step), {}});
    }
  }
  for (const size_t step : in_order(steps, plan_)) {
    plan_.steps.push_back(std::move(steps[step]));
  }
}

}  // namespace octet::inference
