#include "weights.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>

#include "autograd/scale_gradient.h"
#include "inference/trace.h"
#include "tensor/byte_codes.h"

namespace octet {

using autograd::Engine;
using autograd::Expression;
using autograd::GemmType;
using autograd::Leaf;
using autograd::OutputKind;

namespace {

// Repeats each value `times` times.
Tensor repeated(const Tensor& values, int64_t times) {
  if (times == 1) return values;
  Tensor result({values.size() * times});
  float* to = result.f32().data();
  for (const float v : values.f32()) to = std::fill_n(to, times, v);
  return result;
}

// A quantized tensor viewed as a matrix with a scale per column.
struct Columns {
  Columns(const Shape& shape, const QuantParams& qparams) {
    const int given = qparams.per_channel() ? qparams.axis : -1;
    const int axis = given < 0 ? given + shape.rank() : given;
    const int64_t inner = shape.slice(axis + 1, shape.rank()).size();
    rows = shape.slice(0, axis).size();
    count = shape[axis] * inner;
    scale = repeated(qparams.scale, qparams.per_channel() ? inner : count);
  }
  int64_t rows;
  int64_t count;
  Tensor scale;
};

Tensor quantize_weight(const Tensor& x, const QuantParams& qparams,
                       OutputKind form) {
  const Columns columns(x.shape(), qparams);
  Tensor result(x.shape());
  const float* from = x.f32().data();
  float* to = result.f32().data();
  const SerialGuard alone(x.size() < kFewValues);
  parallel_chunks(columns.rows, [&](int64_t first, int64_t last, int64_t) {
    const int64_t offset = first * columns.count;
    kernels::table().quantize_columns({.x = from + offset,
                                       .scale = columns.scale.f32().data(),
                                       .rows = last - first,
                                       .channels = columns.count,
                                       .low = static_cast<float>(qparams.low),
                                       .high = static_cast<float>(qparams.high),
                                       .real = form == OutputKind::real,
                                       .out = to + offset});
  });
  return result;
}

// Source and quantization parameters of a fake-quantized weight.
struct WeightQuantParams {
  Tensor source;
  QuantParams qparams;
  autograd::Node* leaf = nullptr;
};

std::optional<WeightQuantParams> weight_qparams(const Variable& w, int axis) {
  if (const auto* node = dynamic_cast<ChannelQuantizeNode*>(w.node().get())) {
    const int rank = w.shape().rank();
    if ((node->qparams.axis + rank) % rank != (axis + rank) % rank) {
      return std::nullopt;
    }
    return WeightQuantParams{node->source_value(), node->qparams,
                             node->source.get()};
  }
  const Expression* e = w.node()->expression();
  if (e == nullptr || e->qparams.empty()) return std::nullopt;
  const bool simple = !e->second && !e->clipped() && !e->first.scaled();
  if (!simple) return std::nullopt;
  return WeightQuantParams{e->first.t.read(), e->qparams, nullptr};
}

PackedWeight pack_fresh(const Variable& w,
                        const std::optional<WeightQuantParams>& on,
                        GemmType factor, const LinearKernels& kernels,
                        int zero_byte) {
  if (factor == GemmType::values) {
    const Tensor& values = autograd::value_of(*w.node());
    return {kernels.pack(values), {values, {}}, {}};
  }
  const Tensor codes =
      quantize_weight(on->source, on->qparams, OutputKind::codes);
  PackedWeight result;
  result.panels = factor == GemmType::codes
                      ? kernels.pack_codes(codes, zero_byte)
                      : kernels.pack(codes);
  if (grad_enabled()) result.multiplied = {on->source, on->qparams};
  result.scale = on->qparams.scale;
  return result;
}

}  // namespace

bool same_qparams(const QuantParams& a, const QuantParams& b) {
  if (a.empty() || b.empty()) return a.empty() && b.empty();
  return a.axis == b.axis && a.low == b.low && a.high == b.high &&
         a.format == b.format && a.block == b.block &&
         a.scale.size() == b.scale.size() &&
         std::memcmp(a.scale.raw(), b.scale.raw(),
                     static_cast<size_t>(a.scale.bytes())) == 0;
}

ChannelQuantizeNode::ChannelQuantizeNode(const Variable& x,
                                         const QuantParams& g,
                                         StraightThrough m,
                                         const LearnedScale& scale)
    : Node("fake_quantize", x.shape()), source(x.node()), qparams(g), mode(m) {
  depend_on(source);
  if (scale.scale && scale.scale.requires_grad() && grad_enabled()) {
    depend_on(scale.scale.node());
    learned = scale_target(scale);
  }
  if (!source->value.empty()) before = source->value;
}

const Tensor& ChannelQuantizeNode::source_value() const {
  if (inference::Trace* trace = inference::active_trace()) {
    trace->note_use(source->id);
  }
  return before.empty() ? autograd::value_of(*source) : before.read();
}

Tensor ChannelQuantizeNode::compute() {
  return quantize_weight(source_value(), qparams, OutputKind::real);
}

// A gradient per channel: [c].
Tensor ChannelQuantizeNode::scale_gradient(const Tensor& g) const {
  const Columns columns(shape, qparams);
  std::vector<double> sums(static_cast<size_t>(columns.count));
  const kernels::ColumnSlopes call{.g = g.f32().data(),
                                   .x = source_value().f32().data(),
                                   .scale = columns.scale.f32().data(),
                                   .rows = columns.rows,
                                   .stride = columns.count,
                                   .low = static_cast<float>(qparams.low),
                                   .high = static_cast<float>(qparams.high),
                                   .between = learned.between,
                                   .sums = sums.data()};
  constexpr int64_t kBlock = 16;  // columns per vector
  const int64_t blocks = (columns.count + kBlock - 1) / kBlock;
  const SerialGuard alone(g.size() < kFewValues);
  parallel_chunks(blocks, [&](int64_t first, int64_t last, int64_t) {
    kernels::ColumnSlopes part = call;
    const int64_t from = first * kBlock;
    part.channels = std::min(last * kBlock, columns.count) - from;
    part.g += from;
    part.x += from;
    part.scale += from;
    part.sums += from;
    kernels::table().add_slopes(part);
  });
  Tensor result(qparams.scale.shape());
  const auto scales = std::as_const(qparams.scale).f32();
  const int64_t inner = columns.count / qparams.scale.size();
  for (size_t c = 0; c < scales.size(); ++c) {
    const auto from = sums.begin() + static_cast<int64_t>(c) * inner;
    result.f32()[c] = autograd::scale_gradient(
        std::accumulate(from, from + inner, 0.0), scales[c], learned);
  }
  return result;
}

void ChannelQuantizeNode::backward(Engine& engine) {
  Tensor g = Engine::total(*this);
  if (learned.node != nullptr) {
    engine.deliver(learned.node, autograd::plain_gradient(
                                     g.empty() ? Tensor() : scale_gradient(g)));
  }
  if (!g.empty() && mode == StraightThrough::clipped) {
    const Columns columns(shape, qparams);
    Tensor low({columns.count}), high({columns.count});
    for (size_t i = 0; i < static_cast<size_t>(columns.count); ++i) {
      const OpenInterval pass = straight_through_interval(
          std::as_const(columns.scale).f32()[i], qparams.low, qparams.high);
      low.f32()[i] = pass.low;
      high.f32()[i] = pass.high;
    }
    Tensor masked(shape);
    kernels::ColumnPass call{.g = std::as_const(g).f32().data(),
                             .x = source_value().f32().data(),
                             .low = low.f32().data(),
                             .high = high.f32().data(),
                             .channels = columns.count,
                             .out = masked.f32().data()};
    const SerialGuard alone(g.size() < kFewValues);
    parallel_chunks(columns.rows, [&](int64_t first, int64_t last, int64_t) {
      kernels::ColumnPass part = call;
      part.g += first * columns.count;
      part.x += first * columns.count;
      part.out += first * columns.count;
      part.rows = last - first;
      kernels::table().pass_columns(part);
    });
    g = masked;
  }
  engine.deliver(source.get(), autograd::plain_gradient(g));
}

Tensor MultipliedWeight::values() const {
  return qparams.empty()
             ? source.read()
             : quantize_weight(source.read(), qparams, OutputKind::real);
}

bool is_quantized_weight(const Variable& w, int axis) {
  const auto on = weight_qparams(w, axis);
  return on && on->qparams.low >= -128 && on->qparams.high <= 127;
}

bool is_byte_quantized(const Expression& x) { return fits_bytes(x.qparams); }

bool sums_fit(int64_t products, const QuantParams& qparams) {
  const int64_t largest =
      int64_t{128} * std::max({-qparams.low, qparams.high, 1});
  return products > 0 &&
         products <= std::numeric_limits<int32_t>::max() / largest;
}

PackedWeight pack_weight(const Variable& w, GemmType factor,
                         const LinearKernels& kernels, int zero_byte) {
  const auto on = weight_qparams(w, kernels.axis);
  autograd::Node* owner = on ? on->leaf : w.node().get();
  auto* leaf = dynamic_cast<Leaf*>(owner);
  // An optimizer step will write the leaf: drop its packed forms.
  if (leaf != nullptr && grad_enabled() && leaf->needs_grad) {
    leaf->forget_packed();
  }
  if (leaf == nullptr || grad_enabled() || leaf->value.being_written()) {
    return pack_fresh(w, on, factor, kernels, zero_byte);
  }

  const QuantParams qparams = on ? on->qparams : QuantParams{};
  const void* table = &kernels::table();
  const std::vector<int64_t> layout = kernels.layout();
  const void* code_table = &kernels.code_table;
  const auto is_this = [&](const Leaf::Packed& p) {
    return p.table == table && p.factor == factor && p.layout == layout &&
           p.code_table == code_table && p.zero_byte == zero_byte;
  };
  const uint64_t writes = leaf->value.writes();
  std::unique_lock lock(leaf->mutex);
  const auto kept = std::ranges::find_if(leaf->packed, is_this);
  if (kept != leaf->packed.end() && kept->writes == writes &&
      same_qparams(kept->qparams, qparams)) {
    const bool codes = factor != GemmType::values;
    return {kept->panels, {kept->values, {}}, codes ? qparams.scale : Tensor()};
  }
  // Packing waits for threads, which may be waiting for this lock. Concurrent
  // packing yields identical bits.
  lock.unlock();
  PackedWeight fresh = pack_fresh(w, on, factor, kernels, zero_byte);
  const Leaf::Packed entry{
      table,   writes,       factor,
      layout,  code_table,   zero_byte,
      qparams, fresh.panels, fresh.multiplied.source.now()};
  lock.lock();
  // A model uses either values or quantized values.
  std::erase_if(leaf->packed, [&](const Leaf::Packed& p) {
    const bool other_factor = p.factor != factor;
    return is_this(p) ||
           (p.table == table && p.layout == layout && other_factor);
  });
  // A weight is rarely quantized with many parameters.
  constexpr size_t kMost = 8;
  if (leaf->packed.size() >= kMost) leaf->packed.erase(leaf->packed.begin());
  leaf->packed.push_back(entry);
  return fresh;
}

Tensor multiplied_weight(const Variable& w, GemmType factor,
                         const LinearKernels& kernels) {
  if (factor == GemmType::values) return autograd::value_of(*w.node()).clone();
  const auto on = weight_qparams(w, kernels.axis);
  return quantize_weight(on->source, on->qparams, OutputKind::codes);
}

Tensor int8_weight_scale(const Variable& w, int axis) {
  const auto on = weight_qparams(w, axis);
  const bool int8 = on && on->qparams.low >= -128 && on->qparams.high <= 127;
  return int8 ? on->qparams.scale : Tensor();
}

Tensor rescale_of(const Expression& x, const Tensor& scale, int64_t channels) {
  if (scale.empty()) return {};
  Tensor result = repeated(scale, channels / scale.size()).clone();
  for (float& v : result.f32()) v *= x.qparams.scale.item();
  return result;
}

}  // namespace octet
