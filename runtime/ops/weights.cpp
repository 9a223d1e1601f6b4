#include "weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include <octet/runtime/error.h>

namespace octet {

using autograd::Engine;
using autograd::Expression;
using autograd::Leaf;

namespace {

// [outer][channels][inner] around the axis of a per-channel grid.
template <class Body>
void for_each_element(const Shape& shape, const Grid& grid, Body body) {
  const int axis = grid.axis < 0 ? grid.axis + shape.rank() : grid.axis;
  int64_t inner = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  const int64_t channels = shape[axis];
  const int64_t size = shape.size();
  for (int64_t i = 0, channel = 0, run = 0; i < size; ++i) {
    body(static_cast<size_t>(i), static_cast<size_t>(channel));
    if (++run < inner) continue;
    run = 0;
    if (++channel == channels) channel = 0;
  }
}

Tensor scales_per_channel(const Grid& grid, int64_t channels) {
  if (grid.per_channel()) return grid.scale;
  return Tensor::full({channels}, grid.scale.item());
}

// The node's grid and the tensor under it, if w is a fake-quantized weight.
struct WeightGrid {
  Tensor source;
  Grid grid;
  autograd::Node* leaf = nullptr;
};

std::optional<WeightGrid> weight_grid(const Variable& w, int axis = -1) {
  if (const auto* node = dynamic_cast<ChannelGridNode*>(w.node().get())) {
    const int rank = w.shape().rank();
    if ((node->grid.axis + rank) % rank != (axis + rank) % rank) {
      return std::nullopt;
    }
    return WeightGrid{node->source_value(), node->grid, node->source.get()};
  }
  const Expression* e = w.node()->expression();
  if (e == nullptr || e->grid.empty()) return std::nullopt;
  const bool simple = !e->second && !e->clipped() && !e->first.scaled();
  if (!simple) return std::nullopt;
  return WeightGrid{e->first.t.read(), e->grid, nullptr};
}

bool same_grid(const Grid& a, const Grid& b) {
  if (a.empty() || b.empty()) return a.empty() && b.empty();
  return a.low == b.low && a.high == b.high &&
         a.scale.size() == b.scale.size() &&
         std::memcmp(a.scale.raw(), b.scale.raw(),
                     static_cast<size_t>(a.scale.bytes())) == 0;
}

Tensor pack_panels(const Tensor& values, int64_t groups) {
  const int64_t channels = values.shape()[-1] / groups;
  const int64_t rows = values.size() / values.shape()[-1];
  const auto& table = kernels::table();
  const int64_t size = table.packed_size(rows, channels);
  Tensor panels({groups * size});
  Tensor parts = values;
  if (groups > 1) {
    parts = values.reshaped({rows, groups, channels}).transposed({1, 0, 2});
  }
  for (int64_t group = 0; group < groups; ++group) {
    const float* block =
        std::as_const(parts).f32().data() + group * rows * channels;
    table.pack(panels.f32().data() + group * size, &block, 1, rows, channels);
  }
  return panels;
}

PackedWeight pack_fresh(const Variable& w, const std::optional<WeightGrid>& on,
                        bool codes, int64_t groups) {
  PackedWeight result;
  if (!codes) {
    result.real = autograd::value_of(*w.node());
    result.panels = pack_panels(result.real, groups);
    return result;
  }
  const int64_t channels = w.shape()[-1];
  result.scale = scales_per_channel(on->grid, channels);
  Tensor integers(w.shape());
  result.real = Tensor(w.shape());
  kernels::ColumnGrid grid;
  grid.x = std::as_const(on->source).f32().data();
  grid.scale = std::as_const(result.scale).f32().data();
  grid.rows = w.shape().size() / channels;
  grid.channels = channels;
  grid.low = static_cast<float>(on->grid.low);
  grid.high = static_cast<float>(on->grid.high);
  grid.codes = integers.f32().data();
  grid.real = result.real.f32().data();
  kernels::table().quantize_columns(grid);
  result.panels = pack_panels(integers, groups);
  return result;
}

}  // namespace

ChannelGridNode::ChannelGridNode(const Variable& x, const Grid& g,
                                 StraightThrough m)
    : Node("fake_quantize", x.shape()), source(x.node()), grid(g), mode(m) {
  depend_on(source);
  if (!source->value.empty()) before = source->value;
}

const Tensor& ChannelGridNode::source_value() const {
  return before.empty() ? autograd::value_of(*source) : before.read();
}

Tensor ChannelGridNode::compute() {
  const Tensor& x = source_value();
  Tensor out(shape);
  const auto from = x.f32();
  const auto to = out.f32();
  const auto scale = std::as_const(grid.scale).f32();
  for_each_element(shape, grid, [&](size_t i, size_t c) {
    to[i] = quantize(from[i], scale[c], grid.low, grid.high) * scale[c];
  });
  return out;
}

void ChannelGridNode::backward(Engine& engine) {
  Tensor g = Engine::total(*this);
  gradients.clear();
  if (!g.empty() && mode == StraightThrough::clipped) {
    Tensor masked(shape);
    const auto from = std::as_const(g).f32();
    const auto to = masked.f32();
    const auto x = source_value().f32();
    const auto scale = std::as_const(grid.scale).f32();
    const float low = static_cast<float>(grid.low);
    const float high = static_cast<float>(grid.high);
    for_each_element(shape, grid, [&](size_t i, size_t c) {
      const float code = std::nearbyint(x[i] / scale[c]);
      to[i] = code >= low && code <= high ? from[i] : 0.0f;
    });
    g = masked;
  }
  engine.deliver(source.get(), autograd::plain_gradient(g));
}

bool on_weight_grid(const Variable& w, int axis) {
  const auto on = weight_grid(w, axis);
  return on && on->grid.low >= -128 && on->grid.high <= 127;
}

bool on_activation_grid(const Expression& x) {
  return !x.grid.empty() && x.grid.low >= -128 && x.grid.high <= 127;
}

PackedWeight pack_weight(const Variable& w, bool codes, int64_t groups) {
  const auto on = weight_grid(w);
  autograd::Node* owner = on ? on->leaf : w.node().get();
  auto* leaf = dynamic_cast<Leaf*>(owner);
  if (leaf == nullptr || grad_enabled() || leaf->value.being_written()) {
    return pack_fresh(w, on, codes, groups);
  }

  const Tensor scale =
      codes ? scales_per_channel(on->grid, w.shape()[-1]) : Tensor();
  const Grid grid = on ? on->grid : Grid{};
  const void* table = &kernels::table();
  const std::lock_guard lock(leaf->mutex);
  const auto kept =
      std::ranges::find_if(leaf->packed, [&](const Leaf::Packed& p) {
        return p.table == table && p.codes == codes && p.groups == groups;
      });
  const uint64_t writes = leaf->value.writes();
  if (kept != leaf->packed.end() && kept->writes == writes &&
      same_grid(kept->grid, grid)) {
    return {kept->panels, kept->real, scale};
  }
  PackedWeight fresh = pack_fresh(w, on, codes, groups);
  const Leaf::Packed entry{table, writes,       codes,     groups,
                           grid,  fresh.panels, fresh.real};
  if (kept != leaf->packed.end()) {
    *kept = entry;
  } else {
    leaf->packed.push_back(entry);
  }
  return fresh;
}

PlainWeight plain_weight(const Variable& w, bool codes, int axis) {
  PlainWeight result;
  if (!codes) {
    result.real = autograd::value_of(*w.node());
    result.values = result.real;
    return result;
  }
  const auto on = weight_grid(w, axis);
  result.scale = scales_per_channel(on->grid, w.shape()[axis]);
  result.values = Tensor(w.shape());
  result.real = Tensor(w.shape());
  const auto from = std::as_const(on->source).f32();
  const auto scale = std::as_const(result.scale).f32();
  const auto integers = result.values.f32();
  const auto real = result.real.f32();
  Grid grid = on->grid;
  grid.axis = axis;
  for_each_element(w.shape(), grid, [&](size_t i, size_t c) {
    integers[i] = quantize(from[i], scale[c], grid.low, grid.high);
    real[i] = integers[i] * scale[c];
  });
  return result;
}

Tensor rescale_of(const Expression& x, const Tensor& scale) {
  if (scale.empty()) return {};
  Tensor result = scale.clone();
  for (float& v : result.f32()) v *= x.grid.scale.item();
  return result;
}

}  // namespace octet
