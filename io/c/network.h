// CNetwork: a program prepared for C: int8 inputs, buffers in an arena.
#pragma once

#include <cstdint>
#include <type_traits>
#include <variant>
#include <vector>

#include <octet/runtime/detail/portable_program.h>

namespace octet::io::c {

using detail::PortableBuffer;
using detail::PortableEpilogue;
using detail::PortableEvaluate;
using detail::PortableImageSum;
using detail::PortableLinear;
using detail::PortableNearest;
using detail::PortablePool;
using detail::PortableProgram;
using detail::PortableQuant;
using detail::PortableSize;
using detail::PortableSoftmax;
using detail::PortableStep;
using detail::PortableTable;
using detail::PortableUnknown;

/// Element i.
template <class T>
T& at(std::vector<T>& list, int i) {
  return list[static_cast<size_t>(i)];
}
template <class T>
const T& at(const std::vector<T>& list, int i) {
  return list[static_cast<size_t>(i)];
}

/// Calls use(index, written) for each buffer index of a step, -1 included.
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

/// Memory of a buffer.
struct Place {
  enum class Kind { unused, input, output, arena, constant };
  Kind kind = Kind::unused;
  int64_t index = 0;  ///< of the input or output, or offset in the arena
  int whole = -1;     ///< buffer whose memory it is part of, or itself
};

struct CNetwork {
  PortableProgram program;
  std::vector<Place> places;      ///< by buffer
  int64_t arena = 0;              ///< bytes
  int64_t scratch = 0;            ///< bytes behind the arena, for CMSIS-NN
  std::vector<int64_t> step_ram;  ///< bytes of the arena in use, by step

  const PortableBuffer& buffer(int id) const {
    return program.buffers[static_cast<size_t>(id)];
  }
  const Place& place(int id) const { return places[static_cast<size_t>(id)]; }
};

/// Alignment of offsets in the arena.
inline constexpr int64_t kArenaAlignment = 16;

/// Whether values are stored as int16.
inline bool is_wide(const PortableQuant& quant) {
  return quant.high - quant.low > 255;
}
/// Value stored for q = 0: unsigned and shifted ranges are stored as q + zero.
int stored_zero(const PortableQuant& quant);
/// Bytes of an element.
int64_t element_bytes(const PortableBuffer& buffer);
int64_t bytes_of(const PortableBuffer& buffer);

/// Buffers that a step reads and writes.
struct StepAccess {
  std::vector<int> reads, writes;
};
StepAccess access_of(const PortableStep& step);
/// Returns the epilogue of a step, or null.
const PortableEpilogue* epilogue_of(const PortableStep& step);

/// Stores inputs and values as int8 if all consumers quantize them alike, and
/// removes conversions without effect.
void simplify(PortableProgram& program);

/// Merges steps that quantize sums into the steps that compute them.
void merge_steps(PortableProgram& program);

/// Checks that sizes and offsets fit in 32-bit integers, and the height and
/// width of enlarged values in 16-bit integers.
/// Throws: UnsupportedError with the largest size.
void check_sizes(const CNetwork& net);

/// Assigns memory. Steps that compute element by element write in place.
CNetwork place_buffers(PortableProgram program);

}  // namespace octet::io::c
