#include "linear.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include <octet/runtime/detail/portable_program.h>
#include <octet/runtime/parallel.h>

#include "autograd/scale_gradient.h"
#include "inference/by_samples.h"
#include "inference/trace.h"
#include "partitions.h"
#include "tensor/byte_codes.h"
#include "weights.h"

namespace octet {
namespace {

using autograd::Engine;
using autograd::Expression;
using autograd::ExpressionEvaluator;
using autograd::GemmType;
using autograd::Gradient;
using autograd::GradientSink;
using autograd::Node;
using autograd::OutputKind;

// Number of partial sums of a weight gradient, added in order. Fewer for large
// weights, to bound the memory.
int64_t gradient_chunks(int64_t blocks, int64_t weights) {
  const int64_t most = weights > kLargeWeights ? 4 : 16;
  return std::clamp<int64_t>(blocks, 1, most);
}

// A gradient summed in chunks: the first directly in `total`, the others in
// `others` until they are added.
struct ChunkSums {
  ChunkSums(const Shape& shape, int64_t chunks)
      : total(shape), others({chunks - 1, shape.size()}) {}

  float* of(int64_t chunk) {
    return chunk == 0 ? total.f32().data()
                      : others.f32().data() + (chunk - 1) * total.size();
  }
  // Returns the complete gradient and frees the partial sums.
  Tensor add_up() {
    float* to = total.f32().data();
    const float* from = std::as_const(others).f32().data();
    const int64_t size = total.size();
    const SerialGuard alone(others.size() < kFewValues);
    parallel_chunks(size, [&](int64_t first, int64_t last, int64_t) {
      for (int64_t i = 0; i < others.shape()[0]; ++i) {
        kernels::table().accumulate(to + first, from + i * size + first,
                                    last - first);
      }
    });
    others = {};
    return std::move(total);
  }

  Tensor total, others;
};

// Offset of a block in an operand of this shape.
int64_t block_offset(const LinearKernels& k, const Shape& operand,
                     int64_t block) {
  const int64_t c = operand[-1];
  return c == 0 ? 0 : operand.size() / c * block / k.blocks * c;
}

// Computes y, and the statistics of each block unless `statistics` is empty.
// Returns false if INT8 kernels met a NaN.
bool multiply(const LinearKernels& k, const Expression& from,
              const PackedWeight& by, GemmType factor, const Tensor& rescale,
              Tensor& y, Tensor& statistics) {
  const int64_t channels = k.output[-1];
  // Statistics are accumulated in a single chain per block. Without them blocks
  // may be split into bands; shared inputs are then materialized first.
  const int64_t bands =
      statistics.empty() ? band_count(k.blocks, k.block_rows) : 1;
  if (bands > 1) autograd::materialize(from);
  ExpressionEvaluator reader(
      from, factor == GemmType::values ? OutputKind::real : OutputKind::codes);
  float* out = y.f32().data();
  float* sums = statistics.empty() ? nullptr : statistics.f32().data();
  std::atomic<bool> done = true;
  const auto run = [&](int64_t i) {
    const int64_t at = i % bands;
    const RowRange band{i / bands, k.block_rows * at / bands,
                        k.block_rows * (at + 1) / bands};
    const int64_t begin = block_offset(k, k.output, band.block);
    const int64_t size = block_offset(k, k.output, band.block + 1) - begin;
    kernels::Epilogue epilogue;
    epilogue.out = out + begin + size / k.block_rows * band.first;
    if (!rescale.empty()) epilogue.rescale = rescale.f32().data();
    if (sums != nullptr) {
      epilogue.statistics = sums + band.block * 2 * channels;
      epilogue.statistics_row = channels;
    }
    if (factor != GemmType::codes) {
      k.forward(band, reader, by.panels, epilogue);
    } else if (!k.forward_codes(band, reader, by.panels, epilogue)) {
      done = false;
    }
  };
  if (bands > 1) {
    parallel_for(k.blocks * bands, run);
  } else {
    parallel_chunks(k.blocks, [&](int64_t first, int64_t last, int64_t) {
      for (int64_t i = first; i < last; ++i) run(i);
    });
  }
  if (done) reader.commit();
  return done;
}

struct LinearNode final : Node {
  LinearNode(std::string_view name, std::shared_ptr<const LinearKernels> k)
      : Node(name, k->output), kernels(std::move(k)) {}

  // Computes the value and its statistics. Returns false like multiply().
  bool forward(const Expression& from, const PackedWeight& by,
               GemmType factor) {
    if (needs_grad) {
      statistics = Tensor::zeros({kernels->blocks, 2, kernels->output[-1]});
    }
    const Tensor rescale = rescale_of(from, by.scale, kernels->output[-1]);
    return multiply(*kernels, from, by, factor, rescale, value, statistics);
  }
  void backward(Engine& engine) override;
  Gradient scale_gradient(const Expression& dy) const;
  void release() override {
    input = {};
    weight = {};
  }

  autograd::Term term() override {
    autograd::Term result = Node::term();
    result.statistics = statistics;
    return result;
  }

  int64_t offset(const Shape& operand, int64_t block) const {
    return block_offset(*kernels, operand, block);
  }

  std::shared_ptr<const LinearKernels> kernels;
  Node* x = nullptr;
  Node* w = nullptr;
  Expression input;  // evaluated again for the weight gradient
  MultipliedWeight weight;
  Tensor statistics;  // of the value
};

// Gradient of x if only its scale needs it: the sum of dx * slope is that of dy
// * (slope * weight), which takes fewer vectors if x has few channels.
Gradient LinearNode::scale_gradient(const Expression& dy) const {
  const Expression slopes = autograd::expression_of(
      autograd::scale_slopes(*x->expression()), nullptr);
  PackedWeight by;
  by.panels = kernels->pack(weight.values());
  Tensor products(kernels->output), no_statistics;
  multiply(*kernels, slopes, by, GemmType::values, {}, products, no_statistics);
  Gradient result;
  result.slopes =
      Tensor::full({1, 1}, static_cast<float>(autograd::dot(dy, products)));
  return result;
}

void LinearNode::backward(Engine& engine) {
  const Gradient gradient = Engine::collect(*this);
  const Expression& dy = gradient.value;
  if (dy.first.t.empty()) {
    engine.deliver(x, {});
    engine.deliver(w, {});
    return;
  }
  if (x != nullptr && x->scale_alone()) {
    engine.deliver(x, scale_gradient(dy));
    x = nullptr;
  }
  const ExpressionEvaluator dy_reader(dy, OutputKind::real);
  const ExpressionEvaluator x_reader(input, OutputKind::real);
  std::vector<Tensor> panels;
  GradientSink sink;
  if (x != nullptr) {
    panels = kernels->pack_transposed(weight.values());
    sink = engine.sink(x, kernels->blocks);
  }
  int64_t chunks = chunk_count(kernels->blocks);
  Tensor dw;
  std::optional<ChunkSums> sums;
  if (w != nullptr) dw = kernels->weight_gradient(input, dy);
  if (w != nullptr && dw.empty()) {
    chunks = gradient_chunks(kernels->blocks, w->shape.size());
    sums.emplace(w->shape, chunks);
  }
  if (x == nullptr && !sums) chunks = 0;  // no work left
  parallel_for(chunks, [&](int64_t chunk) {
    float* const own = sums ? sums->of(chunk) : nullptr;
    if (own != nullptr) std::fill_n(own, w->shape.size(), 0.0f);
    const int64_t last = kernels->blocks * (chunk + 1) / chunks;
    for (int64_t i = kernels->blocks * chunk / chunks; i < last; ++i) {
      kernels::Epilogue dx;
      kernels::GradientMask mask;
      if (x != nullptr) sink.epilogue(offset(x->shape, i), i, dx, mask);
      kernels->backward({.block = i,
                         .x = x_reader,
                         .dy = dy_reader,
                         .panels = panels,
                         .dx = x != nullptr ? &dx : nullptr,
                         .dw = own});
    }
  });
  if (x != nullptr) engine.close(x, sink);
  if (w == nullptr) return;
  dw = sums ? sums->add_up() : dw.reshaped(w->shape);
  engine.deliver(w, autograd::plain_gradient(dw));
}

// Appends the op to the active trace if x is traced and the weight is not.
Variable trace_linear(std::string_view op, const Variable& x,
                      const Variable& weight,
                      const std::shared_ptr<const LinearKernels>& k,
                      PackedWeight packed, GemmType factor) {
  inference::Trace* trace = inference::active_trace();
  if (trace == nullptr) return {};
  trace->note_use(weight.id());
  if (!trace->is_traced(x.id()) || trace->is_traced(weight.id())) return {};
  if (packed.panels.empty()) {
    factor = GemmType::float_codes;
    packed = pack_weight(weight, factor, *k, 0);
  }
  // A panel may alias the weight, which may change later.
  const Tensor& source = packed.multiplied.source.now();
  for (Tensor& panel : packed.panels) {
    if (panel.raw() == source.raw()) panel = panel.clone();
  }
  packed.multiplied = {};
  const Expression input = autograd::expression_of(x);
  const int64_t channels = k->output[-1];
  const Tensor rescale = rescale_of(input, packed.scale, channels);
  inference::LinearCall call{
      .kernels = k, .weight = {}, .rescale = rescale, .factor = factor};
  if (detail::active_recorder() != nullptr) {
    call.multiplied = multiplied_weight(weight, factor, *k);
    call.weight_scale = int8_weight_scale(weight, k->axis);
  }
  const Size2 upsampling = k->upsampling();
  call.multiply_adds = k->output.size() * (weight.shape().size() / channels) /
                       (upsampling.h * upsampling.w);
  if (!k->has_windows()) {
    return trace->append(
        {.op = op,
         .inputs = {x},
         .shape = k->output,
         .attributes = std::move(call),
         .forward =
             [k, packed, factor, rescale, input = inference::Operand(input),
              known = std::make_shared<inference::BySamples<LinearKernels>>()](
                 std::span<const Tensor> in, Tensor& y) {
               Tensor no_statistics;
               const int64_t n = in[0].shape()[0];
               const auto all = known->of(n, [&] { return k->for_samples(n); });
               multiply(*all, input.of(in[0]), packed, factor, rescale, y,
                        no_statistics);
             }});
  }
  call.weight = packed;
  return trace->append({.op = op,
                        .inputs = {x},
                        .shape = k->output,
                        .attributes = std::move(call)});
}

}  // namespace

Variable linear(std::string_view op, const Variable& x, const Variable& weight,
                std::shared_ptr<const LinearKernels> kernels) {
  auto node = std::make_shared<LinearNode>(op, std::move(kernels));
  const LinearKernels& k = *node->kernels;
  node->depend_on(x.node());
  node->depend_on(weight.node());

  const Expression input = autograd::expression_of(x);
  GemmType factor = GemmType::values;
  if (is_byte_quantized(input) && is_quantized_weight(weight, k.axis)) {
    factor =
        sums_fit(k.code_products(), input.qparams) && !autograd::float_codes()
            ? GemmType::codes
            : GemmType::float_codes;
  }
  const int zero =
      factor == GemmType::codes ? zero_byte(input.qparams, k.code_table) : 0;
  PackedWeight packed = pack_weight(weight, factor, k, zero);
  if (const Variable y =
          trace_linear(op, x, weight, node->kernels, packed, factor))
    return y;
  node->value = Tensor(k.output);
  // NaN has no quantized value; floats propagate it.
  if (packed.panels.empty() || !node->forward(input, packed, factor)) {
    factor = GemmType::float_codes;
    packed = pack_weight(weight, factor, k, 0);
    node->forward(input, packed, factor);
  }
  if (node->needs_grad) {
    node->x = x.requires_grad() ? x.node().get() : nullptr;
    node->w = weight.requires_grad() ? weight.node().get() : nullptr;
    if (node->w != nullptr) node->input = input;
    node->weight = packed.multiplied;
  }
  return Variable(std::move(node));
}

}  // namespace octet
