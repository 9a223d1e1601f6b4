#include <algorithm>
#include <map>
#include <optional>

#include <octet/runtime/error.h>

#include "network.h"

namespace octet::io::c {
namespace {

// Whether a step only converts the format of a value.
bool only_quantizes(const PortableEvaluate& step) {
  const PortableEpilogue& e = step.epilogue;
  return e.a.empty() && e.b.empty() && !e.quant2 && !e.clip2 && !e.clip &&
         e.other < 0 && !e.function && step.multiplier < 0 &&
         e.outputs.size() == 1;
}

class Simplification {
 public:
  explicit Simplification(PortableProgram& program) : program_(program) {}

  void run() {
    for (const int input : program_.inputs) {
      if (const auto quant = common_quant(input)) set_quant(input, *quant);
    }
    quantize_wholes();
    for (PortableStep& step : program_.steps) select_quantized(step);
    // Pools come after the values that they pool.
    for (size_t i = program_.steps.size(); i-- > 0;) {
      for (const int y : access_of(program_.steps[i]).writes) store_int8(y);
    }
    for (PortableStep& step : program_.steps) drop_identity(step);
    std::erase_if(program_.steps, [](const PortableStep& step) {
      const auto* gone = std::get_if<PortableUnknown>(&step.what);
      return gone != nullptr && gone->reason.empty();
    });
    check_parts();
  }

 private:
  PortableBuffer& buffer(int id) { return at(program_.buffers, id); }

  bool is_output(int id) const {
    return std::ranges::find(program_.outputs, id) != program_.outputs.end();
  }
  bool is_input(int id) const {
    return std::ranges::find(program_.inputs, id) != program_.inputs.end();
  }

  // Returns the buffer and the buffers that reshape it.
  std::vector<int> reshapes_of(int id) const {
    std::vector<int> found{id};
    for (size_t k = 0; k < found.size(); ++k) {
      for (size_t i = 0; i < program_.buffers.size(); ++i) {
        if (program_.buffers[i].alias == found[k]) {
          found.push_back(static_cast<int>(i));
        }
      }
    }
    return found;
  }

  void set_quant(int id, const PortableQuant& quant) {
    for (const int member : reshapes_of(id)) buffer(member).quant = quant;
  }

  // A buffer has the parameters of its parts, if they are all alike.
  void quantize_wholes() {
    std::map<int, std::optional<PortableQuant>> quant_of;
    for (const PortableBuffer& part : program_.buffers) {
      if (part.slice_of < 0) continue;
      const auto [known, added] = quant_of.emplace(part.slice_of, part.quant);
      if (!added && known->second != part.quant) known->second.reset();
    }
    for (const auto& [whole, quant] : quant_of) {
      if (quant && !buffer(whole).quant) set_quant(whole, *quant);
    }
  }

  void check_parts() const {
    for (const PortableBuffer& part : program_.buffers) {
      const int whole = part.alias >= 0 ? part.alias : part.slice_of;
      if (whole < 0 || at(program_.buffers, whole).quant == part.quant)
        continue;
      throw UnsupportedError("unsupported_op", "C code",
                             "the operands of a concatenation have different "
                             "scales. Hint: quantize its output");
    }
  }

  // Selected values of a quantized buffer have its parameters.
  void select_quantized(const PortableStep& step) {
    int x = -1, y = -1;
    if (const auto* pool = std::get_if<PortablePool>(&step.what)) {
      if (!pool->maximum) return;
      x = pool->x;
      y = pool->y;
    } else if (const auto* nearest = std::get_if<PortableNearest>(&step.what)) {
      x = nearest->x;
      y = nearest->y;
    }
    if (x < 0 || !buffer(x).quant || buffer(y).quant) return;
    for (const int member : reshapes_of(y)) {
      if (is_output(member) || is_part(member)) return;
    }
    set_quant(y, *buffer(x).quant);
  }

  // Whether a buffer is part of another, or has parts.
  bool is_part(int id) {
    return buffer(id).slice_of >= 0 ||
           std::ranges::any_of(program_.buffers, [&](const auto& other) {
             return other.slice_of == id;
           });
  }

  // Returns the parameters by which a step quantizes a buffer that it only
  // converts or selects values of.
  std::optional<PortableQuant> quant_by(const PortableStep& step) {
    if (const auto* evaluate = std::get_if<PortableEvaluate>(&step.what)) {
      if (!only_quantizes(*evaluate)) return std::nullopt;
      return buffer(evaluate->epilogue.outputs[0].y).quant;
    }
    if (const auto* pool = std::get_if<PortablePool>(&step.what)) {
      return pool->maximum ? buffer(pool->y).quant : std::nullopt;
    }
    if (const auto* nearest = std::get_if<PortableNearest>(&step.what)) {
      return buffer(nearest->y).quant;
    }
    return std::nullopt;
  }

  // Returns the parameters by which all consumers quantize a float value.
  std::optional<PortableQuant> common_quant(int id) {
    std::optional<PortableQuant> quant;
    for (const int member : reshapes_of(id)) {
      const PortableBuffer& b = buffer(member);
      const bool parts = std::ranges::any_of(
          program_.buffers,
          [&](const PortableBuffer& s) { return s.slice_of == member; });
      if (b.quant || b.slice_of >= 0 || parts || is_output(member) ||
          !b.constant.empty()) {
        return std::nullopt;
      }
      for (const PortableStep& step : program_.steps) {
        const std::vector<int> reads = access_of(step).reads;
        if (std::ranges::find(reads, member) == reads.end()) continue;
        const auto own = quant_by(step);
        if (!own || (quant && *quant != *own)) return std::nullopt;
        quant = own;
      }
    }
    return quant;
  }

  // Stores a value quantized if its producer can. Pools and repeated pixels
  // need an input that is quantized, too.
  void store_int8(int y) {
    const auto quant = common_quant(y);
    if (!quant || buffer(y).alias >= 0 || !can_store(y, *quant)) return;
    set_quant(y, *quant);
    for (PortableStep& step : program_.steps) {
      PortableEpilogue* e = nullptr;
      if (auto* linear = std::get_if<PortableLinear>(&step.what)) {
        e = &linear->epilogue;
      } else if (auto* evaluate = std::get_if<PortableEvaluate>(&step.what)) {
        e = &evaluate->epilogue;
      }
      if (e == nullptr) continue;
      for (PortableEpilogue::Output& output : e->outputs) {
        if (output.y == y) output = {y, quant->low, quant->high};
      }
    }
  }

  bool can_store(int y, const PortableQuant& quant) {
    for (const PortableStep& step : program_.steps) {
      const std::vector<int> writes = access_of(step).writes;
      if (std::ranges::find(writes, y) == writes.end()) continue;
      if (std::holds_alternative<PortableTable>(step.what)) return false;
      int x = -1;
      if (const auto* pool = std::get_if<PortablePool>(&step.what)) {
        if (!pool->maximum) return true;
        x = pool->x;
      } else if (const auto* nearest =
                     std::get_if<PortableNearest>(&step.what)) {
        x = nearest->x;
      } else {
        return true;
      }
      if (buffer(x).quant) return buffer(x).quant == quant;
      return is_alone(x, step) && can_store(x, quant);
    }
    return false;  // an input
  }

  // Whether a value has no other consumer and no other name.
  bool is_alone(int x, const PortableStep& consumer) {
    const PortableBuffer& b = buffer(x);
    if (b.alias >= 0 || b.slice_of >= 0 || is_output(x) || is_input(x) ||
        !b.constant.empty() || reshapes_of(x).size() > 1) {
      return false;
    }
    return std::ranges::none_of(
               program_.buffers,
               [&](const PortableBuffer& s) { return s.slice_of == x; }) &&
           std::ranges::none_of(program_.steps, [&](const PortableStep& step) {
             const std::vector<int> reads = access_of(step).reads;
             return &step != &consumer &&
                    std::ranges::find(reads, x) != reads.end();
           });
  }

  // A conversion to the same parameters shares the memory of its input.
  void drop_identity(PortableStep& step) {
    const auto* evaluate = std::get_if<PortableEvaluate>(&step.what);
    if (evaluate == nullptr || !only_quantizes(*evaluate)) return;
    const int x = evaluate->x;
    const int y = evaluate->epilogue.outputs[0].y;
    if (x != y) {  // else another format of the value
      if (!buffer(y).quant || buffer(x).quant != buffer(y).quant ||
          (is_output(y) && (is_input(x) || is_output(x))) ||
          buffer(x).slice_of >= 0 || buffer(y).slice_of >= 0 ||
          buffer(x).size() != buffer(y).size()) {
        return;
      }
      buffer(y).alias = x;
      std::ranges::replace(program_.outputs, y, x);
    }
    step.what = PortableUnknown{};
  }

  PortableProgram& program_;
};

}  // namespace

void simplify(PortableProgram& program) { Simplification(program).run(); }

}  // namespace octet::io::c
