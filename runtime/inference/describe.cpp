#include "describe.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace octet::inference {
namespace {

using kernels::StorageFormat;

std::string size_text(const Storage& s) {
  std::string text = s.int8 ? "int8" : "uint8";
  switch (s.form) {
    case StorageFormat::bytes:
    case StorageFormat::shorts:
      break;
    case StorageFormat::float_codes:
      text += " as f32";
      break;
    default:
      text = "f32";
  }
  Shape stored = s.shape;
  if (s.skips()) {
    stored = stored.with(-2, s.w);
    if (stored.rank() == 4) stored = stored.with(1, s.h);
  }
  char before = ' ';
  for (int axis = 1; axis < stored.rank(); ++axis) {
    text += fmt::format("{}{}", before, stored[axis]);
    before = 'x';
  }
  return text;
}

std::string joined(const std::vector<std::string>& words,
                   std::string_view between) {
  return fmt::format("{}", fmt::join(words, between));
}

// Truncates long lists.
std::string sum_text(std::vector<std::string> terms) {
  constexpr size_t kMost = 8;
  if (terms.size() > kMost) {
    const size_t more = terms.size() - kMost + 1;
    terms.resize(kMost - 1);
    terms.push_back(fmt::format("{} more", more));
  }
  return joined(terms, " + ");
}

std::string follows_text(const FusedStep& step) {
  const kernels::FusedEpilogue& f = step.fused;
  std::vector<std::string> words;
  if (f.terms > 0) words.emplace_back("scale");
  if (f.terms == 2) words.emplace_back("add");
  if (f.low > -autograd::kInfinity || f.high < autograd::kInfinity) {
    words.emplace_back("clip");
  }
  if (f.activate != nullptr) words.emplace_back("activation");
  return joined(words, ", ");
}

}  // namespace

ProgramStep describe(const Program::Plan& plan, const Step& step) {
  const auto text = [&](int id) {
    return size_text(plan.storages[static_cast<size_t>(id)]);
  };
  ProgramStep result;
  result.name = step.name;
  result.op = step.op;
  if (const auto* fused = std::get_if<FusedStep>(&step.what)) {
    result.reads = text(fused->x);
    result.fused = follows_text(*fused);
    std::vector<std::string> outputs;
    for (const int output : fused->outputs) outputs.push_back(text(output));
    result.stores = sum_text(std::move(outputs));
    const Storage& y = plan.storages[static_cast<size_t>(fused->outputs[0])];
    result.multiply_adds = fused->linear.multiply_adds;
    const autograd::ImageShape whole(y.shape);
    if (y.h != whole.h || y.w != whole.w) {
      result.multiply_adds =
          result.multiply_adds / (whole.h * whole.w) * (y.h * y.w);
      result.note =
          y.shape.rank() == 4
              ? fmt::format("of {}x{} pixels; the others are unused", whole.h,
                            whole.w)
              : fmt::format("of {} steps; the others are unused", whole.w);
    }
    for (const Tensor& panel : fused->linear.weight.panels) {
      result.weight_bytes += panel.bytes();
    }
  } else if (const auto* evaluation = std::get_if<EvaluateStep>(&step.what)) {
    result.reads = text(evaluation->first);
    for (const int also : {evaluation->second, evaluation->multiplier}) {
      if (also >= 0) result.reads += " + " + text(also);
    }
    result.stores = text(evaluation->output);
    result.note = evaluation->why;
  } else if (const auto* pool = std::get_if<PoolStep>(&step.what)) {
    result.reads = text(pool->x);
    result.stores = text(pool->output);
  } else if (const auto* table = std::get_if<TableStep>(&step.what)) {
    result.reads = text(table->x);
    result.stores = text(table->output);
  } else {
    const auto* op = std::get_if<OpStep>(&step.what);
    const auto* call = std::get_if<CallStep>(&step.what);
    std::vector<std::string> inputs;
    for (const int input : op != nullptr ? op->inputs : call->inputs) {
      inputs.push_back(text(input));
    }
    result.reads = sum_text(std::move(inputs));
    result.stores = text(op != nullptr ? op->output : call->output);
  }
  if (step.lasting) result.note = "computed once";
  return result;
}

}  // namespace octet::inference
