#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>

#include "node.h"
#include "observe.h"
#include "tensor/arena.h"

namespace octet::autograd {
namespace {

// The tensor of a term, saved for the gradient of the term's op.
const Tensor& read(const Term& term) {
  return with_context(
      [&] {
        return fmt::format("in the gradient of {}",
                           term.target != nullptr ? term.target->op : "add");
      },
      [&]() -> const Tensor& { return term.t.read(); });
}

// Returns a sink with the mask of `e`, and storage for sums if an op below the
// expression needs them. `others` are gradients to add, or empty.
GradientSink fused_sink(const Expression& e, int64_t groups,
                        const Tensor& others = {}) {
  GradientSink sink;
  const auto point = [&](const float*& at, const Tensor& tensor) {
    at = tensor.f32().data();
    sink.read.push_back(tensor);
  };
  sink.fused = true;
  sink.out = Tensor(e.shape);
  sink.to = sink.out.f32().data();
  kernels::GradientMask& mask = sink.mask;
  const OpenInterval pass = e.pass();
  mask.low = pass.low;
  mask.high = pass.high;
  mask.channels = ImageShape(e.shape).c;
  // The saved t is used if it is scaled (sums of g*t), or if the mask needs its
  // value: an interval without a buffer.
  const bool bounded = pass.low > -kInfinity || pass.high < kInfinity;
  const bool learned = e.scale.node != nullptr && !eager();
  const bool first_is_read =
      !e.first.a.empty() || ((bounded || learned) && !e.materialized());
  point(mask.z, first_is_read ? read(e.first) : e.first.t.now());
  if (e.second && e.second->scaled()) {
    const Term& second = *e.second;
    point(mask.second, second.a.empty() ? second.t.now() : read(second));
  }
  const bool affine = e.first.scaled();
  if (affine || mask.second != nullptr) {
    sink.sums = Tensor::zeros({groups, 3, mask.channels});
    mask.sums = sink.sums.f32().data();
  }
  if (e.materialized()) {
    point(mask.value, *e.buffer);
  } else if (!affine) {
    point(mask.value, e.first.t.now());
  } else {
    const Shape channels{mask.channels};
    const Tensor& a = e.first.a;
    const Tensor& b = e.first.b;
    point(mask.a, a.empty() ? Tensor::full(channels, 1) : a);
    point(mask.b, b.empty() ? Tensor::zeros(channels) : b);
  }
  if (!others.empty()) point(mask.others, others);
  if (learned) {
    sink.slopes = Tensor::zeros({groups, mask.channels});
    mask.slopes = sink.slopes.f32().data();
    mask.slope = {.low = e.low,
                  .high = e.high,
                  .inverse = 1 / e.qparams.scale.item(),
                  .code_low = static_cast<float>(e.qparams.low),
                  .code_high = static_cast<float>(e.qparams.high),
                  .between = e.scale.between};
  }
  return sink;
}

}  // namespace

kernels::GradientMask shifted(kernels::GradientMask m, int64_t offset,
                              int64_t channel) {
  for (const float** at : {&m.z, &m.value, &m.second, &m.others}) {
    if (*at != nullptr) *at += offset + channel;
  }
  for (const float** at : {&m.a, &m.b}) {
    if (*at != nullptr) *at += channel;
  }
  if (m.sums != nullptr) m.sums += channel;
  if (m.slopes != nullptr) m.slopes += channel;
  return m;
}

void finish(const kernels::Epilogue& e, const float* g, int64_t pixels,
            int64_t channels) {
  if (e.mask != nullptr) {
    kernels::table().mask(e.out, g, pixels, *e.mask);
  } else {
    std::memcpy(e.out, g,
                static_cast<size_t>(pixels * channels) * sizeof(float));
  }
}

void GradientSink::epilogue(int64_t offset, int64_t group, kernels::Epilogue& e,
                            kernels::GradientMask& m) const {
  e.out = to + offset;
  if (!fused) return;
  m = shifted(mask, offset);
  if (m.sums != nullptr) m.sums += group * 3 * mask.channels;
  if (m.slopes != nullptr) m.slopes += group * mask.channels;
  e.mask = &m;
}

void GradientSink::write(int64_t offset, int64_t group, int64_t pixels,
                         const float* g) const {
  kernels::Epilogue e;
  kernels::GradientMask m;
  epilogue(offset, group, e, m);
  finish(e, g, pixels, ImageShape(out.shape()).c);
}

void Engine::run(const NodePtr& root) {
  std::vector<NodePtr> order{root};
  try {
    // Count the edges into every node below the root.
    for (size_t i = 0; i < order.size(); ++i) {
      if (order[i]->released) {
        throw ValueError("invalid_state", "backward",
                         "the tape was released by an earlier backward(). "
                         "Hint: run the forward pass again");
      }
      const NodePtr node = order[i];
      for (const NodePtr& input : node->inputs) {
        if (pending_gradients(*input).pending++ == 0) order.push_back(input);
      }
    }
    // Ids ascend from inputs to outputs: descending ids are a reverse
    // topological order.
    std::ranges::sort(order, [](const NodePtr& a, const NodePtr& b) {
      return a->id > b->id;
    });
    pending_gradients(*root).gradients.push_back(
        plain_gradient(Tensor::full(root->shape, 1)));
    for (NodePtr& next : order) {
      if (const int64_t more = pending_gradients(*next).pending; more != 0) {
        throw InternalError(
            "internal", "backward",
            fmt::format("{} misses {} gradients", next->op, more));
      }
      with_context(
          [&] { return fmt::format("in the gradient of {}", next->op); },
          [&] {
            const GradientObserver observer(*next, running_);
            next->backward(*this);
          });
      pending_gradients(*next).gradients.clear();
      if (next->inputs.empty()) {  // a leaf
        next = nullptr;
        continue;
      }
      next->released = true;
      next->inputs.clear();
      next->release();
      next = nullptr;  // freed now unless still in use
      arrive_early();
    }
  } catch (...) {
    for (const NodePtr& node : order) {
      if (node != nullptr) pending_gradients(*node) = {};
    }
    throw;
  }
}

void Engine::deliver(Node* to, Gradient gradient) {
  if (to == nullptr || !to->needs_grad) return;
  PendingGradients& at = pending_gradients(*to);
  if (--at.pending == 0) {
    if (auto* leaf = dynamic_cast<Leaf*>(to)) complete_.push_back(leaf);
  }
  if (gradient.value.first.t.empty() && gradient.slopes.empty()) {
    return;  // zero
  }
  if (checks_nan()) expect_finite_gradient(running_, *to, gradient.value);
  at.gradients.push_back(std::move(gradient));
}

PendingGradients& Engine::pending_gradients(Node& node) {
  const bool leaf = dynamic_cast<Leaf*>(&node) != nullptr;
  return leaf ? of_leaves_[&node] : node.pending_gradients;
}

// A leaf whose value is shared, for example with a tensor saved by an op,
// arrives in its turn: last.
void Engine::arrive_early() {
  std::erase_if(complete_, [&](Leaf* leaf) {
    if (receiver_ != nullptr && leaf->value.is_shared()) return false;
    arrive(*leaf);
    return true;
  });
}

void Engine::arrive(Leaf& leaf) {
  Tensor total = sum(std::exchange(pending_gradients(leaf).gradients, {}));
  if (total.empty()) return;
  if (receiver_ != nullptr) {
    (*receiver_)(Variable(leaf.shared_from_this()), total);
  } else if (leaf.grad.empty()) {
    // A tensor may be shared with another receiver.
    leaf.grad = total.is_shared() ? total.clone() : std::move(total);
  } else {
    kernels::table().accumulate(leaf.grad.f32().data(), total.f32().data(),
                                leaf.grad.size());
  }
}

GradientSink Engine::sink(Node* to, int64_t groups) {
  const Expression* e = to->expression();
  if (e != nullptr && to->pending_gradients.pending == 1 && !eager()) {
    materialize(*e);
    const Tensor others = total(*to);
    return fused_sink(*e, groups, others);
  }
  GradientSink sink;
  sink.out = Tensor(to->shape);
  sink.to = sink.out.f32().data();
  return sink;
}

void Engine::close(Node* to, const GradientSink& sink) {
  Gradient gradient = plain_gradient(sink.out);
  gradient.sums = sink.sums;
  gradient.slopes = sink.slopes;
  gradient.finished = sink.fused;
  deliver(to, std::move(gradient));
}

Tensor Engine::total(Node& node) {
  return sum(std::exchange(node.pending_gradients.gradients, {}));
}

Tensor Engine::sum(const std::vector<Gradient>& gradients) {
  if (gradients.empty()) return {};
  const Expression& first = gradients[0].value;
  if (gradients.size() == 1) return value_of(first);
  Tensor sum = evaluate(first);
  float* to = sum.f32().data();
  for (size_t k = 1; k < gradients.size(); ++k) {
    const ExpressionEvaluator reader(gradients[k].value, OutputKind::real);
    const int64_t size = reader.images().size();
    parallel_chunks(reader.images().n, [&](int64_t begin, int64_t end,
                                           int64_t) {
      for (int64_t i = begin; i < end; ++i) {
        kernels::table().accumulate(to + i * size, reader.image(i, 2), size);
      }
    });
  }
  return sum;
}

Gradient Engine::collect(Node& node) {
  Gradient result;
  if (node.pending_gradients.gradients.size() == 1) {
    result = std::move(node.pending_gradients.gradients[0]);
    node.pending_gradients.gradients.clear();
  } else {
    result = plain_gradient(total(node));
  }
  return result;
}

Gradient Engine::masked(const Expression& e, const Tensor& g) {
  const ImageShape images(e.shape);
  const GradientSink sink = fused_sink(e, images.n);
  const float* from = g.f32().data();
  parallel_chunks(images.n, [&](int64_t first, int64_t last, int64_t) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t offset = i * images.size();
      sink.write(offset, i, images.h * images.w, from + offset);
    }
  });
  Gradient gradient = plain_gradient(sink.out);
  gradient.sums = sink.sums;
  gradient.slopes = sink.slopes;
  return gradient;
}

}  // namespace octet::autograd
