#include "storage.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "autograd/expression.h"
#include "passes.h"

namespace octet::inference {
namespace {

using kernels::StorageFormat;

int64_t rounded_up(int64_t n, int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

void find_lifetimes(Program::Plan& plan) {
  const int end = static_cast<int>(plan.steps.size());
  const auto use = [&](int storage, int step) {
    if (storage < 0) return;
    Storage& s = at(plan.storages, whole_of(plan.storages, storage));
    if (s.first < 0) s.first = step;
    s.last = std::max(s.last, step);
  };
  for (const int input : plan.inputs) use(input, 0);
  for (int i = 0; i < end; ++i) {
    const Step& step = at(plan.steps, i);
    if (const auto* fused = std::get_if<FusedStep>(&step.what)) {
      use(fused->x, i);
      use(fused->other, i);
      for (const int output : fused->outputs) use(output, i);
    } else if (const auto* eval = std::get_if<EvaluateStep>(&step.what)) {
      use(eval->first, i);
      use(eval->second, i);
      use(eval->multiplier, i);
      use(eval->scratch, i);
      use(eval->output, i);
    } else if (const auto* pool = std::get_if<PoolStep>(&step.what)) {
      use(pool->x, i);
      use(pool->output, i);
    } else if (const auto* table = std::get_if<TableStep>(&step.what)) {
      use(table->x, i);
      use(table->output, i);
    } else if (const auto* op = std::get_if<OpStep>(&step.what)) {
      for (const int input : op->inputs) use(input, i);
      use(op->scratch, i);
      use(op->output, i);
    } else {
      const auto& call = std::get<CallStep>(step.what);
      for (const int input : call.inputs) use(input, i);
      use(call.output, i);
    }
  }
  for (const int output : plan.outputs) use(output, end);
  for (size_t i = 0; i < plan.storages.size(); ++i) {
    const Storage& s = plan.storages[i];
    if (s.external && s.last >= 0 && s.last < end) {
      at(plan.steps, s.last).gone.push_back(static_cast<int>(i));
    }
  }
}

// Marks tensors whose memory is not part of the block.
void find_external(Program::Plan& plan) {
  const auto mark = [&](int storage) {
    at(plan.storages, storage).external = true;
  };
  for (const int input : plan.inputs) mark(input);
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    if (plan.direct[i]) mark(plan.outputs[i]);
  }
  for (const Step& step : plan.steps) {
    if (const auto* call = std::get_if<CallStep>(&step.what)) {
      mark(call->output);
    }
  }
  for (size_t i = 0; i < plan.storages.size(); ++i) {
    if (!plan.storages[i].constant.empty()) {
      plan.constants.push_back(static_cast<int>(i));
    }
  }
}

// Marks steps whose inputs are constants, and their outputs.
void find_lasting(Program::Plan& plan) {
  const auto lasts = [&](int storage) {
    if (storage < 0) return true;
    const Storage& s = at(plan.storages, whole_of(plan.storages, storage));
    return s.lasting || !s.constant.empty();
  };
  for (Step& step : plan.steps) {
    int output = -1;
    if (const auto* eval = std::get_if<EvaluateStep>(&step.what)) {
      step.lasting =
          lasts(eval->first) && lasts(eval->second) && lasts(eval->multiplier);
      output = eval->output;
    } else if (const auto* op = std::get_if<OpStep>(&step.what)) {
      step.lasting = std::ranges::all_of(op->inputs, lasts);
      output = op->output;
    }
    if (!step.lasting) continue;
    Storage* s = output < 0 ? nullptr : &at(plan.storages, output);
    // A slice is part of a value of each run.
    step.lasting = s != nullptr && !s->external && s->slice_of < 0;
    if (step.lasting) s->lasting = true;
  }
}

// Places lasting values one after another.
void place_lasting(Program::Plan& plan) {
  for (Storage& s : plan.storages) {
    if (!s.lasting) continue;
    s.offset = plan.lasting_block;
    plan.lasting_block += rounded_up(s.bytes(), 64);
  }
}

}  // namespace

int whole_of(std::span<const Storage> storages, int storage) {
  while (true) {
    const Storage& s = storages[static_cast<size_t>(storage)];
    const int whole = s.alias >= 0 ? s.alias : s.slice_of;
    if (whole < 0) return storage;
    storage = whole;
  }
}

void Storage::lay_out() {
  const autograd::ImageShape image(shape);
  h = (image.h + every.h - 1) / every.h;
  w = (image.w + every.w - 1) / every.w;
  c = image.c;
  const int64_t words = kernels::table().codes_in(form).words(c);
  switch (form) {
    case StorageFormat::bytes:
      element = 1;
      set_pixel(words * 4);
      return;
    case StorageFormat::shorts:
      element = 2;
      set_pixel(words * 2);
      return;
    default:
      element = sizeof(float);
      set_pixel(c);
  }
}

void Storage::lay_out_in(const Storage& whole) {
  lay_out();
  pads = whole.pads;
  pixel = whole.pixel;
  row = whole.row;
  size = whole.size;
}

void Storage::pad_pixel_strides() {
  constexpr int64_t kLine = 16;
  constexpr int64_t kConflict = 512;
  if (tensor || slice_of >= 0 || element != sizeof(float) || c % kConflict != 0)
    return;
  set_pixel(c + kLine);
}

void Storage::set_pixel(int64_t elements) {
  pixel = elements;
  row = (pads.left + w + pads.right) * pixel;
  size = (pads.top + h + pads.bottom) * row;
}

// Assigns the lowest offset that is free during the lifetime, largest first.
void place_storages(Program::Plan& plan) {
  find_external(plan);
  find_lasting(plan);
  place_lasting(plan);
  find_lifetimes(plan);
  std::vector<Storage*> order;
  for (Storage& s : plan.storages) {
    const bool inside = !s.external && !s.lasting && s.alias < 0 &&
                        s.slice_of < 0 && s.constant.empty();
    if (inside && s.first >= 0) order.push_back(&s);
  }
  std::ranges::stable_sort(order, std::greater<>(),
                           [](const Storage* s) { return s->bytes(); });
  std::vector<const Storage*> placed;
  for (Storage* s : order) {
    s->offset = 0;
    for (const Storage* other : placed) {  // in ascending order of offset
      if (other->last < s->first || s->last < other->first) continue;
      const int64_t other_end = rounded_up(other->offset + other->bytes(), 64);
      if (s->offset + s->bytes() <= other->offset) break;
      s->offset = std::max(s->offset, other_end);
    }
    placed.insert(
        std::ranges::upper_bound(placed, s->offset, {},
                                 [](const Storage* p) { return p->offset; }),
        s);
    plan.block = std::max(plan.block, rounded_up(s->offset + s->bytes(), 64));
  }
}

}  // namespace octet::inference
