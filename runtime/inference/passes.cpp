#include "passes.h"

#include <cstdio>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/system.h>

#include "describe.h"
#include "fusion.h"
#include "portable.h"
#include "tensor/arena.h"

namespace octet::inference {
namespace {

std::string text_of(const Trace& trace) { return trace.to_string(); }
std::string text_of(const LoweredGraph& graph) { return graph.to_string(); }
std::string text_of(const Program::Plan& plan) { return to_string(plan); }

template <class Result>
void show(std::string_view pass, const Result& result) {
  if (!traces(TraceKind::program)) return;
  fmt::print(stderr, "program '{}':\n{}", pass, text_of(result));
}

}  // namespace

Program::Plan compile(Trace trace) {
  show("trace", trace);
  remove_dead(trace);
  show("dead code", trace);
  fuse_attention(trace);
  remove_dead(trace);
  show("attention", trace);
  LoweredGraph graph = fuse(trace);
  show("fusion", graph);
  distribute(graph);
  show("concatenation", graph);
  pool_codes(graph);
  distribute(graph);  // expressions that pooling added
  show("quantized pooling", graph);
  Program::Plan plan = lay_out(std::move(graph));
  show("layout", plan);
  plan_scratch(plan);
  place_storages(plan);
  show("memory", plan);
  if (detail::ProgramRecorder* recorder = detail::active_recorder()) {
    recorder->program = portable(plan);
  }
  return plan;
}

void remove_dead(Trace& trace) {
  const std::vector<TraceNode>& nodes = trace.nodes();
  std::unordered_map<uint64_t, bool> used;
  for (const uint64_t id : trace.inputs) used[id] = true;
  for (const uint64_t id : trace.outputs) used[id] = true;
  std::vector<bool> unused(nodes.size());
  for (size_t i = nodes.size(); i-- > 0;) {
    unused[i] = !used[nodes[i].id];
    if (unused[i]) continue;
    for (const uint64_t input : nodes[i].inputs) used[input] = true;
  }
  trace.remove(unused);
}

void plan_scratch(Program::Plan& plan) {
  for (Step& step : plan.steps) {
    auto* op = std::get_if<OpStep>(&step.what);
    if (op == nullptr) continue;
    std::vector<Tensor> inputs;
    for (const int input : op->inputs) {
      const Storage& s = at(plan.storages, input);
      inputs.push_back(s.constant.empty() ? Tensor::zeros(s.shape)
                                          : s.constant);
    }
    Tensor y(at(plan.storages, op->output).shape);
    int64_t bytes = 0;
    {
      const arena::StepMemory measured(nullptr, 0);
      op->forward(inputs, y);
      bytes = measured.requested();
    }
    if (bytes == 0) continue;
    Storage s;
    s.tensor = true;
    s.shape = {1, (bytes + 3) / 4};
    s.lay_out();
    op->scratch = static_cast<int>(plan.storages.size());
    plan.storages.push_back(std::move(s));
  }
}

LoweredGraph fuse(const Trace& trace) { return Fusion(trace).run(); }

std::string to_string(const Program::Plan& plan) {
  std::string text;
  for (const Step& step : plan.steps) {
    const ProgramStep s = describe(plan, step);
    text += fmt::format("  {}({}) -> {}", s.op, s.reads, s.stores);
    if (!s.fused.empty()) text += fmt::format("; {}", s.fused);
    if (!s.note.empty()) text += fmt::format("; {}", s.note);
    if (!s.name.empty()) text += fmt::format("  '{}'", s.name);
    text += "\n";
  }
  if (plan.block > 0) {
    text += fmt::format("  {} bytes of activations per sample\n", plan.block);
  }
  return text;
}

}  // namespace octet::inference
