#include "attention.h"

#include <algorithm>

#include <octet/runtime/parallel.h>

#include "kernels/kernels.h"
#include "matrices.h"
#include "partitions.h"
#include "tensor/arena.h"

namespace octet {
namespace {

// A block of rows of scores of one head.
struct ScoreRows {
  float* values;
  int64_t rows, keys;
  int64_t stride;
};

// Operand of a pointwise op for these rows.
struct OperandRows {
  const float* values = nullptr;
  int64_t row = 0, column = 0;
};

template <class F>
void apply(const ScoreRows& s, const OperandRows& operand, F f) {
  for (int64_t r = 0; r < s.rows; ++r) {
    float* x = s.values + r * s.stride;
    const float* y = operand.values + r * operand.row;
    if (operand.column == 1) {
      for (int64_t k = 0; k < s.keys; ++k) x[k] = f(x[k], y[k]);
    } else if (operand.column == 0) {
      const float value = *y;
      for (int64_t k = 0; k < s.keys; ++k) x[k] = f(x[k], value);
    } else {
      for (int64_t k = 0; k < s.keys; ++k) {
        x[k] = f(x[k], y[k * operand.column]);
      }
    }
  }
}

void add(const ScoreRows& s, const OperandRows& operand) {
  if (operand.column != 1) {
    return apply(s, operand, [](float x, float y) { return x + y; });
  }
  for (int64_t r = 0; r < s.rows; ++r) {
    kernels::table().accumulate(s.values + r * s.stride,
                                operand.values + r * operand.row, s.keys);
  }
}

void choose(const ScoreRows& s, const OperandRows& condition,
            const OperandRows& operand, bool keep) {
  for (int64_t r = 0; r < s.rows; ++r) {
    float* x = s.values + r * s.stride;
    const float* y = operand.values + r * operand.row;
    const float* c = condition.values + r * condition.row;
    for (int64_t k = 0; k < s.keys; ++k) {
      const bool holds = c[k * condition.column] != 0;
      x[k] = holds == keep ? x[k] : y[k * operand.column];
    }
  }
}

// Rows at multiples of 2 KiB share few sets of the first-level cache.
constexpr int64_t kAliasing = 512;
constexpr int64_t kPadding = 16;

class AttentionRun {
 public:
  AttentionRun(const Attention& attention, std::span<const Tensor> inputs,
               Tensor& y)
      : a_(attention),
        inputs_(inputs),
        out_(y.f32().data()),
        width_(kernels::table().packed_size(1, a_.keys)),
        stride_(width_ % kAliasing == 0 ? width_ + kPadding : width_) {}

  // Computes rows [first, last) of a head.
  void rows(int64_t sample, int64_t head, int64_t first, int64_t last) const {
    const auto& table = kernels::table();
    float* keys = arena::scratch(0, table.packed_size(a_.depth, a_.keys));
    float* values = arena::scratch(1, table.packed_size(a_.keys, a_.channels));
    pack(1, sample, head, a_.depth, a_.keys, true, keys);
    pack(2, sample, head, a_.keys, a_.channels, false, values);
    // Half of a first-level cache, but enough rows to reuse packed keys.
    constexpr int64_t kFloats = 6144;
    constexpr int64_t kLeastRows = 28;
    const int64_t most = std::max(kLeastRows, kFloats / stride_);
    const int64_t blocks = (last - first + most - 1) / most;
    float* scores = arena::scratch(2, most * stride_);
    for (int64_t i = 0; i < blocks; ++i) {
      const int64_t begin = first + (last - first) * i / blocks;
      const int64_t end = first + (last - first) * (i + 1) / blocks;
      block(sample, head, begin, {scores, end - begin, a_.keys, stride_}, keys,
            values);
    }
  }

 private:
  // Matrix of an input.
  OperandRows matrix(int input, int64_t sample, int64_t head) const {
    const auto i = static_cast<size_t>(input);
    const MatrixLayout& layout = a_.inputs[i];
    return {inputs_[i].f32().data() + sample * layout.sample +
                layout.offsets[static_cast<size_t>(head)],
            layout.row, layout.column};
  }

  // Packs [depth][channels], stored as [channels][depth] if `by_channel`.
  void pack(int input, int64_t sample, int64_t head, int64_t depth,
            int64_t channels, bool by_channel, float* to) const {
    const OperandRows m = matrix(input, sample, head);
    const int64_t between_depths = by_channel ? m.column : m.row;
    const int64_t between_channels = by_channel ? m.row : m.column;
    const bool transposed = between_channels != 1;
    kernels::table().pack(
        {.blocks = &m.values,
         .block_count = 1,
         .rows = depth,
         .channels = channels,
         .row = transposed ? between_channels : between_depths,
         .transposed = transposed,
         .out = to});
  }

  // Returns rows of the query, whose distance suits the cache.
  MatrixRows queries(int64_t sample, int64_t head, int64_t first,
                     int64_t rows) const {
    const OperandRows q = matrix(0, sample, head);
    const float* from = q.values + first * q.row;
    if (q.row % kAliasing != 0) return {from, rows, q.row};
    float* to = arena::scratch(3, rows * a_.depth);
    for (int64_t r = 0; r < rows; ++r) {
      std::copy_n(from + r * q.row, a_.depth, to + r * a_.depth);
    }
    return {to, rows, a_.depth};
  }

  void block(int64_t sample, int64_t head, int64_t first,
             const ScoreRows& scores, const float* keys,
             const float* values) const {
    kernels::Epilogue to_scores;
    to_scores.out = scores.values;
    to_scores.pixel = stride_;
    if (!a_.rescale.empty()) to_scores.rescale = a_.rescale.data();
    // Padded keys fill whole vectors.
    multiply_rows(queries(sample, head, first, scores.rows), a_.depth, keys,
                  width_, to_scores);
    for (const ScoreOp& op : a_.ops) run(op, sample, head, first, scores);
    kernels::table().softmax({.x = scores.values,
                              .y = scores.values,
                              .rows = scores.rows,
                              .n = a_.keys,
                              .row = stride_,
                              .scale = a_.scale});
    kernels::Epilogue to_output;
    to_output.out = out_ + sample * a_.output.sample +
                    a_.output.offsets[static_cast<size_t>(head)] +
                    first * a_.output.row;
    to_output.pixel = a_.output.row;
    multiply_rows({scores.values, scores.rows, stride_}, a_.keys, values,
                  a_.channels, to_output);
  }

  void run(const ScoreOp& op, int64_t sample, int64_t head, int64_t first,
           const ScoreRows& scores) const {
    using Kind = ScoreOp::Kind;
    const auto operand = [&](int input) {
      OperandRows rows = matrix(input, sample, head);
      rows.values += first * rows.row;
      return rows;
    };
    switch (op.kind) {
      case Kind::scale_shift:
        return apply(scores, {&op.scale},
                     [shift = op.shift](float x, float scale) {
                       return scale * x + shift;
                     });
      case Kind::add:
        return add(scores, operand(op.operand));
      case Kind::multiply:
        return apply(scores, operand(op.operand),
                     [](float x, float y) { return x * y; });
      case Kind::divide:
        return apply(scores, operand(op.operand),
                     [](float x, float y) { return x / y; });
      case Kind::where:
      case Kind::where_not:
        return choose(scores, operand(op.condition), operand(op.operand),
                      op.kind == Kind::where);
    }
  }

  const Attention& a_;
  std::span<const Tensor> inputs_;
  float* out_;
  int64_t width_;   // keys in whole vectors
  int64_t stride_;  // between rows of scores
};

}  // namespace

void attend(const Attention& attention, std::span<const Tensor> inputs,
            Tensor& y) {
  const AttentionRun run(attention, inputs, y);
  const int64_t heads = y.shape()[0] * attention.heads;
  const int64_t rows = attention.queries;
  const int64_t bands = band_count(heads, rows);
  parallel_for(heads * bands, [&](int64_t i) {
    const int64_t head = i / bands;
    const int64_t band = i % bands;
    run.rows(head / attention.heads, head % attention.heads,
             rows * band / bands, rows * (band + 1) / bands);
  });
}

}  // namespace octet
