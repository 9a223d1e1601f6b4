#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>

#include "../arena.h"
#include "node.h"

namespace octet::autograd {
namespace {

// The tensor of a term; it is the gradient below the term that reads it.
const Tensor& read(const Term& term) {
  return with_context(
      [&] {
        return fmt::format("in the gradient of {}",
                           term.target != nullptr ? term.target->op : "add");
      },
      [&]() -> const Tensor& { return term.t.read(); });
}

// Pointers and interval of a mask over `e`, with room for sums if something
// below the expression wants them.
GradientSink fused_sink(const Expression& e, int64_t groups) {
  GradientSink sink;
  sink.fused = true;
  sink.out = Tensor(e.shape);
  const OpenInterval pass = e.pass();
  // Sums of g*t are asked for where t is scaled, its value where there is an
  // interval and no cell.
  const bool bounded = pass.low > -kInfinity || pass.high < kInfinity;
  const bool first_is_read = !e.first.a.empty() || (bounded && !e.stored());
  sink.first = first_is_read ? read(e.first) : e.first.t.now();
  if (e.second && e.second->scaled()) {
    sink.second = e.second->a.empty() ? e.second->t.now() : read(*e.second);
  }
  const bool affine = e.first.scaled();
  if (affine || !sink.second.empty()) {
    sink.sums = Tensor::zeros({groups, 3, ImageShape(e.shape).c});
  }
  sink.mask.low = pass.low;
  sink.mask.high = pass.high;
  sink.mask.channels = ImageShape(e.shape).c;
  if (e.stored()) {
    sink.value = *e.cell;
  } else if (!affine) {
    sink.value = e.first.t.now();
  } else {
    const Shape channels{sink.mask.channels};
    const Tensor a = e.first.a.empty() ? Tensor::full(channels, 1) : e.first.a;
    const Tensor b = e.first.b.empty() ? Tensor::zeros(channels) : e.first.b;
    sink.mask.a = a.f32().data();
    sink.mask.b = b.f32().data();
    // Keeps the two alive next to the pointers.
    sink.coefficients = {a, b};
  }
  return sink;
}

}  // namespace

void GradientSink::epilogue(int64_t offset, int64_t group, kernels::Epilogue& e,
                            kernels::GradientMask& m) const {
  e.out = const_cast<Tensor&>(out).f32().data() + offset;
  if (!fused) return;
  m = mask;
  m.z = first.f32().data() + offset;
  if (!value.empty()) m.value = value.f32().data() + offset;
  if (!second.empty()) m.second = second.f32().data() + offset;
  if (!others.empty()) m.others = others.f32().data() + offset;
  if (!sums.empty()) {
    m.sums = const_cast<Tensor&>(sums).f32().data() + group * 3 * mask.channels;
  }
  e.mask = &m;
}

void GradientSink::write(int64_t offset, int64_t group, int64_t pixels,
                         const float* g) const {
  kernels::Epilogue e;
  kernels::GradientMask m;
  epilogue(offset, group, e, m);
  if (fused) {
    kernels::table().mask(e.out, g, pixels, m);
  } else {
    const int64_t channels = ImageShape(out.shape()).c;
    std::memcpy(e.out, g,
                static_cast<size_t>(pixels * channels) * sizeof(float));
  }
}

void Engine::run(const NodePtr& root) {
  std::vector<NodePtr> order{root};
  try {
    // Count the edges into every node below the root.
    for (size_t i = 0; i < order.size(); ++i) {
      if (order[i]->released) {
        throw ValueError(
            "backward: expected a tape, got one that an earlier backward() "
            "released; run the forward pass again");
      }
      const NodePtr node = order[i];
      for (const NodePtr& input : node->inputs) {
        if (input->pending++ == 0) order.push_back(input);
      }
    }
    // Ids fall along edges: descending ids are a reverse topological order.
    std::ranges::sort(order, [](const NodePtr& a, const NodePtr& b) {
      return a->id > b->id;
    });
    root->gradients.push_back(plain_gradient(Tensor::full(root->shape, 1)));
    for (NodePtr& next : order) {
      if (next->pending != 0) {
        throw InternalError(fmt::format(
            "backward: {} expects {} more gradients", next->op, next->pending));
      }
      with_context(
          [&] { return fmt::format("in the gradient of {}", next->op); },
          [&] { next->backward(*this); });
      next->gradients.clear();
      const NodePtr done = std::move(next);  // freed now unless in use
      if (done->inputs.empty()) continue;    // a leaf
      done->released = true;
      done->inputs.clear();
      done->release();
    }
  } catch (...) {
    for (const NodePtr& node : order) {
      if (node == nullptr) continue;
      node->pending = 0;
      node->gradients.clear();
    }
    throw;
  }
}

void Engine::deliver(Node* to, Gradient gradient) {
  if (to == nullptr || !to->needs_grad) return;
  --to->pending;
  if (gradient.value.first.t.empty()) return;  // zero
  to->gradients.push_back(std::move(gradient));
}

GradientSink Engine::sink(Node* to, int64_t groups) {
  const Expression* e = to->expression();
  if (to->pending == 1 && e != nullptr && !eager()) {
    store_cell(*e);
    GradientSink sink = fused_sink(*e, groups);
    sink.others = total(*to);
    to->gradients.clear();
    return sink;
  }
  GradientSink sink;
  sink.out = Tensor(to->shape);
  return sink;
}

void Engine::close(Node* to, const GradientSink& sink) {
  Gradient gradient = plain_gradient(sink.out);
  gradient.sums = sink.sums;
  gradient.finished = sink.fused;
  deliver(to, std::move(gradient));
}

Tensor Engine::total(Node& node) {
  if (node.gradients.empty()) return {};
  const Gradient& first = node.gradients[0];
  if (node.gradients.size() == 1 && first.plain()) {
    return first.value.first.t.read();
  }
  Tensor sum = evaluate(first.value);
  float* to = sum.f32().data();
  for (size_t k = 1; k < node.gradients.size(); ++k) {
    const Reader reader(node.gradients[k].value, Form::real);
    const int64_t size = reader.images().size();
    parallel_chunks(reader.images().n,
                    [&](int64_t begin, int64_t end, int64_t) {
                      for (int64_t i = begin; i < end; ++i) {
                        const float* part = reader.direct(i);
                        if (part == nullptr) {
                          float* scratch = arena::scratch(2, size);
                          reader.read(i, {}, scratch);
                          part = scratch;
                        }
                        kernels::table().accumulate(to + i * size, part, size);
                      }
                    });
  }
  return sum;
}

Gradient Engine::collect(Node& node) {
  Gradient result;
  if (node.gradients.size() == 1) {
    result = std::move(node.gradients[0]);
  } else {
    result = plain_gradient(total(node));
  }
  node.gradients.clear();
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
  return gradient;
}

}  // namespace octet::autograd
