#include "network.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet::io::c {
namespace {

int root_buffer(const PortableProgram& program, int id) {
  while (true) {
    const PortableBuffer& b = at(program.buffers, id);
    const int next = b.alias >= 0 ? b.alias : b.slice_of;
    if (next < 0) return id;
    id = next;
  }
}

// Assigns memory to buffers. Buffers that share memory are a group.
class BufferPlanner {
 public:
  explicit BufferPlanner(PortableProgram program) {
    net_.program = std::move(program);
    const size_t count = net_.program.buffers.size();
    net_.places.resize(count);
    group_.resize(count);
    for (size_t i = 0; i < count; ++i) {
      group_[i] = root_buffer(net_.program, static_cast<int>(i));
    }
  }

  CNetwork run() {
    place_fixed();
    find_lifetimes();
    write_in_place();
    place_in_arena();
    for (size_t i = 0; i < group_.size(); ++i) {
      net_.places[i] = at(net_.places, group_[i]);
      net_.places[i].whole = root_buffer(net_.program, static_cast<int>(i));
    }
    return std::move(net_);
  }

 private:
  struct Lifetime {
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
    // Generated code copies the remaining outputs (inputs, constants, parts of
    // larger buffers) at the end.
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
      Lifetime& life = at(lives_, group(id));
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

  // Lets a step write its output into the memory of an elementwise operand
  // that no later step reads.
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

  // Assigns each buffer the lowest offset that is free during its lifetime,
  // larger buffers first.
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
      const Lifetime& life = at(lives_, id);
      int64_t offset = 0;
      for (const int other : placed) {
        const Lifetime& its = at(lives_, other);
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
  std::vector<int> group_;       // first buffer of each buffer's memory
  std::vector<Lifetime> lives_;  // by group
};

}  // namespace

int stored_zero(const PortableQuant& quant) {
  const bool as_is = is_wide(quant) || (quant.low >= -128 && quant.high <= 127);
  return as_is ? 0 : -128 - quant.low;
}

int64_t element_bytes(const PortableBuffer& buffer) {
  if (!buffer.quant) return 4;
  return is_wide(*buffer.quant) ? 2 : 1;
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

void check_sizes(const CNetwork& net) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  int64_t largest = net.arena + net.scratch;
  for (const PortableBuffer& buffer : net.program.buffers) {
    largest = std::max(largest, bytes_of(buffer));
  }
  for (const PortableStep& step : net.program.steps) {
    if (const auto* linear = std::get_if<PortableLinear>(&step.what)) {
      largest = std::max(largest, 4 * std::ssize(linear->weights));
    } else if (const auto* nearest = std::get_if<PortableNearest>(&step.what)) {
      const PortableBuffer& x = net.buffer(nearest->x);
      if (std::max(x.h, x.w) > std::numeric_limits<int16_t>::max()) {
        largest = kMost + 1;
      }
    }
  }
  if (largest <= kMost) return;
  throw UnsupportedError("size_limit", "C code",
                         fmt::format("weights and values have at most {} "
                                     "bytes each, got {}",
                                     kMost, largest));
}

CNetwork place_buffers(PortableProgram program) {
  return BufferPlanner(std::move(program)).run();
}

}  // namespace octet::io::c
