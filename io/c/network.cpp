#include "network.h"

#include <algorithm>
#include <utility>

#include <octet/runtime/error.h>

namespace octet::io::c {
namespace {

template <class T>
T& at(std::vector<T>& list, int i) {
  return list[static_cast<size_t>(i)];
}
template <class T>
const T& at(const std::vector<T>& list, int i) {
  return list[static_cast<size_t>(i)];
}

// Calls use(index, written) for each buffer index of a step.
template <class Step, class Use>
void for_each_buffer(Step& step, Use use) {
  const auto epilogue = [&](auto& e) {
    use(e.other, false);
    for (auto& output : e.outputs) use(output.y, true);
  };
  std::visit(
      [&](auto& what) {
        using What = std::decay_t<decltype(what)>;
        if constexpr (std::is_same_v<What, PortableUnknown>) {
        } else if constexpr (std::is_same_v<What, PortableLinear>) {
          use(what.x, false);
          epilogue(what.epilogue);
        } else if constexpr (std::is_same_v<What, PortableEvaluate>) {
          use(what.x, false);
          use(what.multiplier, false);
          epilogue(what.epilogue);
        } else {
          use(what.x, false);
          use(what.y, true);
        }
      },
      step.what);
}

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
    for (const int input : program_.inputs) quantize_input(input);
    for (PortableStep& step : program_.steps) drop_identity(step);
    std::erase_if(program_.steps, [](const PortableStep& step) {
      const auto* gone = std::get_if<PortableUnknown>(&step.what);
      return gone != nullptr && gone->reason.empty();
    });
  }

 private:
  PortableBuffer& buffer(int id) { return at(program_.buffers, id); }

  // Returns the step that quantizes a buffer, or null.
  PortableEvaluate* quantization(PortableStep& step, int x) {
    auto* evaluate = std::get_if<PortableEvaluate>(&step.what);
    if (evaluate == nullptr || evaluate->x != x || !only_quantizes(*evaluate)) {
      return nullptr;
    }
    const PortableBuffer& y = buffer(evaluate->epilogue.outputs[0].y);
    return y.quant && y.slice_of < 0 ? evaluate : nullptr;
  }

  bool is_output(int id) const {
    return std::ranges::find(program_.outputs, id) != program_.outputs.end();
  }

  // An input that is only consumed quantized is an int8 input.
  void quantize_input(int input) {
    std::optional<PortableQuant> quant;
    for (PortableStep& step : program_.steps) {
      bool reads = false;
      for_each_buffer(step, [&](int id, bool) { reads |= id == input; });
      if (!reads) continue;
      const PortableEvaluate* evaluate = quantization(step, input);
      if (evaluate == nullptr) return;
      const PortableBuffer& y = buffer(evaluate->epilogue.outputs[0].y);
      if (quant && *quant != *y.quant) return;
      quant = y.quant;
    }
    const bool shared =
        std::ranges::any_of(program_.buffers, [&](const PortableBuffer& b) {
          return b.alias == input || b.slice_of == input;
        });
    if (!quant || shared || is_output(input)) return;
    buffer(input).quant = quant;
  }

  // A conversion to the same parameters shares the memory of its input.
  void drop_identity(PortableStep& step) {
    auto* evaluate = std::get_if<PortableEvaluate>(&step.what);
    if (evaluate == nullptr) return;
    const int x = evaluate->x;
    if (only_quantizes(*evaluate) && evaluate->epilogue.outputs[0].y == x) {
      step.what = PortableUnknown{};  // another format of the value
      return;
    }
    const PortableEvaluate* same = quantization(step, x);
    if (same == nullptr) return;
    const int y = same->epilogue.outputs[0].y;
    if (buffer(x).quant != buffer(y).quant || is_output(y) ||
        buffer(x).slice_of >= 0 || buffer(x).size() != buffer(y).size()) {
      return;
    }
    buffer(y).alias = x;
    step.what = PortableUnknown{};
  }

  PortableProgram& program_;
};

int whole_of(const PortableProgram& program, int id) {
  while (true) {
    const PortableBuffer& b = at(program.buffers, id);
    const int next = b.alias >= 0 ? b.alias : b.slice_of;
    if (next < 0) return id;
    id = next;
  }
}

// Places buffers in memory. Buffers that share memory are a group.
class Placement {
 public:
  explicit Placement(PortableProgram program) {
    net_.program = std::move(program);
    const size_t count = net_.program.buffers.size();
    net_.places.resize(count);
    group_.resize(count);
    for (size_t i = 0; i < count; ++i) {
      group_[i] = whole_of(net_.program, static_cast<int>(i));
    }
  }

  CNetwork run() {
    place_fixed();
    find_lifetimes();
    write_in_place();
    place_in_arena();
    for (size_t i = 0; i < group_.size(); ++i) {
      net_.places[i] = at(net_.places, group_[i]);
      net_.places[i].whole = whole_of(net_.program, static_cast<int>(i));
    }
    return std::move(net_);
  }

 private:
  struct Life {
    int first = -1, last = -1;
  };

  const PortableBuffer& buffer(int id) const {
    return at(net_.program.buffers, id);
  }
  int group(int id) const { return at(group_, id); }

  void place_fixed() {
    for (size_t i = 0; i < net_.places.size(); ++i) {
      if (net_.program.buffers[i].constant.empty()) continue;
      net_.places[i] = {Place::Kind::constant, static_cast<int64_t>(i)};
    }
    for (size_t i = 0; i < net_.program.inputs.size(); ++i) {
      at(net_.places, group(net_.program.inputs[i])) = {
          Place::Kind::input, static_cast<int64_t>(i)};
    }
    // Other outputs are copied from their place at the end.
    for (size_t i = 0; i < net_.program.outputs.size(); ++i) {
      const int output = net_.program.outputs[i];
      Place& place = at(net_.places, group(output));
      if (place.kind == Place::Kind::unused &&
          bytes_of(buffer(group(output))) == bytes_of(buffer(output))) {
        place = {Place::Kind::output, static_cast<int64_t>(i)};
      }
    }
  }

  void find_lifetimes() {
    lives_.assign(group_.size(), {});
    const int end = static_cast<int>(net_.program.steps.size());
    const auto use = [&](int id, int step) {
      Life& life = at(lives_, group(id));
      if (life.first < 0) life.first = step;
      life.last = std::max(life.last, step);
    };
    for (int i = 0; i < end; ++i) {
      for_each_buffer(at(net_.program.steps, i), [&](int id, bool) {
        if (id >= 0) use(id, i);
      });
    }
    for (const int output : net_.program.outputs) use(output, end);
  }

  bool in_arena(int id) const {
    return at(net_.places, id).kind == Place::Kind::unused &&
           at(lives_, id).first >= 0;
  }

  // Merges the output of a step into an operand that it reads element by
  // element for the last time.
  void write_in_place() {
    for (int i = 0; i < static_cast<int>(net_.program.steps.size()); ++i) {
      const PortableStep& step = at(net_.program.steps, i);
      int operand = -1, y = -1, x = -1;
      if (const auto* linear = std::get_if<PortableLinear>(&step.what)) {
        if (linear->epilogue.outputs.size() != 1) continue;
        if (linear->epilogue.other_every.h != 1 ||
            linear->epilogue.other_every.w != 1) {
          continue;
        }
        operand = linear->epilogue.other;
        x = linear->x;
        y = linear->epilogue.outputs[0].y;
      } else if (const auto* e = std::get_if<PortableEvaluate>(&step.what)) {
        if (e->epilogue.outputs.size() != 1) continue;
        operand = e->x;
        y = e->epilogue.outputs[0].y;
      } else if (const auto* table = std::get_if<PortableTable>(&step.what)) {
        operand = table->x;
        y = table->y;
      }
      if (operand >= 0) merge(i, operand, y, x);
    }
  }

  void merge(int step, int operand, int y, int x) {
    const int from = group(operand), to = group(y);
    if (from == to || (x >= 0 && group(x) == from)) return;
    if (buffer(operand).slice_of >= 0 || buffer(y).slice_of >= 0) return;
    if (!in_arena(from) || !in_arena(to) || at(lives_, from).last != step ||
        at(lives_, to).first != step ||
        bytes_of(buffer(operand)) != bytes_of(buffer(from)) ||
        bytes_of(buffer(y)) != bytes_of(buffer(to)) ||
        bytes_of(buffer(from)) != bytes_of(buffer(to)) ||
        element_bytes(buffer(from)) != element_bytes(buffer(to))) {
      return;
    }
    at(lives_, from).last = at(lives_, to).last;
    at(lives_, to) = {};
    for (int& g : group_) {
      if (g == to) g = from;
    }
  }

  // The lowest offset that is free during the lifetime, largest first.
  void place_in_arena() {
    std::vector<int> order;
    for (int i = 0; i < static_cast<int>(group_.size()); ++i) {
      if (group(i) == i && in_arena(i)) order.push_back(i);
    }
    const auto size = [&](int id) {
      return (bytes_of(buffer(id)) + kArenaAlignment - 1) / kArenaAlignment *
             kArenaAlignment;
    };
    std::ranges::stable_sort(order, std::greater<>(), size);
    net_.step_ram.assign(net_.program.steps.size(), 0);
    std::vector<int> placed;  // ascending offsets
    for (const int id : order) {
      const Life& life = at(lives_, id);
      int64_t offset = 0;
      for (const int other : placed) {
        const Life& its = at(lives_, other);
        if (its.last < life.first || life.last < its.first) continue;
        const int64_t begin = at(net_.places, other).index;
        if (offset + size(id) <= begin) break;
        offset = std::max(offset, begin + size(other));
      }
      at(net_.places, id) = {Place::Kind::arena, offset};
      placed.insert(std::ranges::upper_bound(
                        placed, offset, {},
                        [&](int p) { return at(net_.places, p).index; }),
                    id);
      net_.arena = std::max(net_.arena, offset + size(id));
      for (int s = life.first;
           s <= life.last && s < static_cast<int>(net_.step_ram.size()); ++s) {
        at(net_.step_ram, s) += bytes_of(buffer(id));
      }
    }
  }

  CNetwork net_;
  std::vector<int> group_;   // first buffer of each buffer's memory
  std::vector<Life> lives_;  // by group
};

}  // namespace

int stored_zero(const PortableQuant& quant) {
  return quant.low >= -128 && quant.high <= 127 ? 0 : -128 - quant.low;
}

int64_t element_bytes(const PortableBuffer& buffer) {
  return buffer.quant ? 1 : 4;
}

int64_t bytes_of(const PortableBuffer& buffer) {
  return buffer.size() * element_bytes(buffer);
}

StepAccess access_of(const PortableStep& step) {
  StepAccess access;
  for_each_buffer(step, [&](int id, bool written) {
    if (id < 0) return;
    (written ? access.writes : access.reads).push_back(id);
  });
  return access;
}

const PortableEpilogue* epilogue_of(const PortableStep& step) {
  if (const auto* linear = std::get_if<PortableLinear>(&step.what)) {
    return &linear->epilogue;
  }
  const auto* evaluate = std::get_if<PortableEvaluate>(&step.what);
  return evaluate == nullptr ? nullptr : &evaluate->epilogue;
}

void simplify(PortableProgram& program) { Simplification(program).run(); }

CNetwork place_buffers(PortableProgram program) {
  return Placement(std::move(program)).run();
}

}  // namespace octet::io::c
