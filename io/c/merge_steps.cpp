// Removes float values that a step computes only for quantization in a later
// step.
#include <algorithm>

#include "network.h"

namespace octet::io::c {
namespace {

// Whether an epilogue stores its value unchanged.
bool stores_only(const PortableEpilogue& e) {
  return e.a.empty() && e.b.empty() && !e.clip2 && !e.quant2 && !e.clip &&
         e.other < 0 && !e.function && e.outputs.size() == 1;
}

class StepMerger {
 public:
  explicit StepMerger(PortableProgram& program) : program_(program) {}

  void run() {
    for (PortableStep& step : program_.steps) drop_zeros(step);
    for (PortableStep& step : program_.steps) read_quantized(step);
    for (size_t i = 0; i < program_.steps.size(); ++i) merge_into(i);
    for (PortableStep& step : program_.steps) quantize_sums(step);
    for (size_t i = 0; i < program_.steps.size(); ++i) merge_sum(i);
    std::erase_if(program_.steps, [](const PortableStep& step) {
      const auto* gone = std::get_if<PortableUnknown>(&step.what);
      return gone != nullptr && gone->reason.empty();
    });
  }

 private:
  PortableBuffer& buffer(int id) { return at(program_.buffers, id); }

  // Removes offsets of 0 from quantized values, which are never -0.
  void drop_zeros(PortableStep& step) {
    auto* evaluate = std::get_if<PortableEvaluate>(&step.what);
    if (evaluate == nullptr || evaluate->multiplier >= 0) return;
    PortableEpilogue& e = evaluate->epilogue;
    const auto drop = [&](std::vector<float>& offsets, int id) {
      const auto is_zero = [](float v) { return v == 0; };
      if (id >= 0 && buffer(id).quant &&
          std::ranges::all_of(offsets, is_zero)) {
        offsets.clear();
      }
    };
    if (e.a.empty()) drop(e.b, evaluate->x);
    if (e.other_a.empty()) drop(e.other_b, e.other);
  }

  // Replaces Q2(clip2(a*x + b)) by the buffer that an earlier step stores it
  // in.
  void read_quantized(PortableStep& step) {
    auto* sum = std::get_if<PortableEvaluate>(&step.what);
    if (sum == nullptr || !sum->epilogue.quant2) return;
    PortableEpilogue& e = sum->epilogue;
    for (const PortableStep& earlier : program_.steps) {
      if (&earlier == &step) return;
      const auto* stored = std::get_if<PortableEvaluate>(&earlier.what);
      if (stored == nullptr || stored->x != sum->x || stored->multiplier >= 0) {
        continue;
      }
      const PortableEpilogue& s = stored->epilogue;
      const auto& output = s.outputs.at(0);
      if (s.other >= 0 || s.function || s.outputs.size() != 1 || s.a != e.a ||
          s.b != e.b || s.clip != e.clip2 ||
          buffer(output.y).quant != e.quant2 || output.low != e.quant2->low ||
          output.high != e.quant2->high || buffer(output.y).slice_of >= 0) {
        continue;
      }
      sum->x = output.y;
      e.a.clear();
      e.b.clear();
      e.clip2.reset();
      e.quant2.reset();
      return;
    }
  }

  // Stores the result of a linear step quantized if all consumers quantize it
  // in the same way and then add to it. This remains for results with several
  // consumers, or with a consumer whose other operand is computed later.
  void quantize_sums(PortableStep& step) {
    auto* linear = std::get_if<PortableLinear>(&step.what);
    if (linear == nullptr || !stores_only(linear->epilogue)) return;
    const int sums = linear->epilogue.outputs[0].y;
    if (!is_private(sums) || buffer(sums).quant) return;
    std::vector<PortableEvaluate*> consumers;
    for (PortableStep& later : program_.steps) {
      const std::vector<int> reads = access_of(later).reads;
      if (std::ranges::find(reads, sums) == reads.end()) continue;
      auto* sum = std::get_if<PortableEvaluate>(&later.what);
      if (sum == nullptr || sum->x != sums || sum->multiplier >= 0 ||
          sum->epilogue.other == sums || !sum->epilogue.quant2) {
        return;
      }
      consumers.push_back(sum);
    }
    if (consumers.empty()) return;
    const PortableEpilogue first = consumers[0]->epilogue;
    for (const PortableEvaluate* other : consumers) {
      const PortableEpilogue& e = other->epilogue;
      if (e.a != first.a || e.b != first.b || e.clip2 != first.clip2 ||
          e.quant2 != first.quant2) {
        return;
      }
    }
    PortableBuffer stored = buffer(sums);
    stored.quant = first.quant2;
    const int id = static_cast<int>(program_.buffers.size());
    program_.buffers.push_back(std::move(stored));
    linear->epilogue.a = first.a;
    linear->epilogue.b = first.b;
    linear->epilogue.clip = first.clip2;
    linear->epilogue.outputs = {{id, first.quant2->low, first.quant2->high}};
    for (PortableEvaluate* consumer : consumers) {
      consumer->x = id;
      consumer->epilogue.a.clear();
      consumer->epilogue.b.clear();
      consumer->epilogue.clip2.reset();
      consumer->epilogue.quant2.reset();
    }
  }

  // Moves the epilogue of the only consumer of a linear step's sums into it.
  void merge_into(size_t index) {
    auto* linear = std::get_if<PortableLinear>(&program_.steps[index].what);
    if (linear == nullptr || !stores_only(linear->epilogue)) return;
    const int sums = linear->epilogue.outputs[0].y;
    PortableStep* consumer = only_consumer(sums);
    if (consumer == nullptr || buffer(sums).quant) return;
    auto& only = std::get<PortableEvaluate>(consumer->what);
    if (only.x != sums || only.multiplier >= 0 ||
        !is_known(only.epilogue.other, index)) {
      return;
    }
    linear->epilogue = std::move(only.epilogue);
    consumer->what = PortableUnknown{};
  }

  // Adds the other operand of a sum in the step that computes and quantizes the
  // last one.
  void merge_sum(size_t index) {
    auto* linear = std::get_if<PortableLinear>(&program_.steps[index].what);
    if (linear == nullptr || linear->epilogue.outputs.size() != 1) return;
    PortableEpilogue& own = linear->epilogue;
    const PortableEpilogue::Output output = own.outputs[0];
    const std::optional<PortableQuant> quant = buffer(output.y).quant;
    PortableStep* consumer = only_consumer(output.y);
    if (consumer == nullptr || !quant || own.other >= 0 || own.function) return;
    auto& sum = std::get<PortableEvaluate>(consumer->what);
    const PortableEpilogue& e = sum.epilogue;
    const int other = sum.x == output.y ? e.other : sum.x;
    if (other < 0 || sum.multiplier >= 0 || !e.a.empty() || !e.b.empty() ||
        e.clip2 || e.quant2 || !e.other_a.empty() || !e.other_b.empty() ||
        e.other_plus_zero || e.other_every.h != 1 || e.other_every.w != 1 ||
        !buffer(other).quant || !is_known(other, index)) {
      return;
    }
    own.clip2 = own.clip;
    own.quant2 = {quant->scale, output.low, output.high};
    own.clip = e.clip;
    own.other = other;
    own.function = e.function;
    own.outputs = e.outputs;
    consumer->what = PortableUnknown{};
  }

  // Returns the only step that reads a private buffer, if it is an evaluation
  // that reads it once, else null.
  PortableStep* only_consumer(int id) {
    if (!is_private(id)) return nullptr;
    PortableStep* only = nullptr;
    for (PortableStep& step : program_.steps) {
      const std::vector<int> reads = access_of(step).reads;
      const auto count = std::ranges::count(reads, id);
      if (count == 0) continue;
      if (only != nullptr || count > 1 ||
          !std::holds_alternative<PortableEvaluate>(step.what)) {
        return nullptr;
      }
      only = &step;
    }
    return only;
  }

  bool is_private(int id) {
    const PortableBuffer& b = buffer(id);
    const bool output =
        std::ranges::find(program_.outputs, id) != program_.outputs.end();
    return b.alias < 0 && b.slice_of < 0 && !output &&
           std::ranges::none_of(program_.buffers, [&](const auto& other) {
             return other.alias == id || other.slice_of == id;
           });
  }

  // Whether an operand, or -1, is available to a step.
  bool is_known(int other, size_t index) const {
    if (other < 0) return true;
    for (size_t i = index; i < program_.steps.size(); ++i) {
      const std::vector<int> writes = access_of(program_.steps[i]).writes;
      if (std::ranges::find(writes, other) != writes.end()) return false;
    }
    // Reshaped or joined operands may be written under other names.
    return at(program_.buffers, other).alias < 0 &&
           std::ranges::none_of(program_.buffers, [&](const auto& part) {
             return part.slice_of == other;
           });
  }

  PortableProgram& program_;
};

}  // namespace

void merge_steps(PortableProgram& program) { StepMerger(program).run(); }

}  // namespace octet::io::c
