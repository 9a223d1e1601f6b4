#include <functional>
#include <utility>

#include <octet/runtime/ops.h>

#include "autograd/node.h"
#include "elementwise.h"

namespace octet {
namespace {

using autograd::Expression;
using autograd::Term;

// `y` as second term: affine, or a leaf term with its own clip and quantization
// whose gradient passes through y's node.
Term second_term(const Variable& y) {
  Expression e = autograd::expression_of(y);
  if (e.second && !e.materialized()) {
    (void)autograd::value_of(*y.node());
    e = autograd::expression_of(y);
  }
  if (e.affine()) return e.first;
  Term term;
  if (e.materialized()) {
    term.t = *e.buffer;
  } else {
    term = e.first;
    term.low = e.low;
    term.high = e.high;
  }
  term.qparams = e.qparams;
  term.target = y.node().get();
  return term;
}

// Expressions have a single shape: broadcast sums are computed immediately.
Variable broadcast_add(const Variable& x, const Variable& y) {
  const Broadcast plan("add", x.shape(), y.shape());
  const Variable traced =
      offer_elementwise("broadcast_add", x, y, plan.shape(), std::plus<>());
  if (traced) return traced;
  const Tensor sum = combine(plan, {}, x.value(), y.value(),
                             [](float a, float b) { return a + b; });
  return record("add", {x, y}, sum, {}, [](const Tensor& dy) {
    return std::vector{dy, dy};
  });
}

}  // namespace

Variable add(const Variable& x, const Variable& y) {
  if (x.shape() != y.shape()) return broadcast_add(x, y);
  Variable p = x;
  Variable q = y;
  if (inference::Trace* trace = inference::active_trace();
      trace != nullptr &&
      trace->is_traced(x.id()) != trace->is_traced(y.id())) {
    p = trace->constant(x);
    q = trace->constant(y);
  }
  if (!autograd::expression_of(p).affine()) std::swap(p, q);
  Expression e = autograd::expression_of(p);
  if (!e.affine()) {
    e = autograd::expression_of(autograd::value_of(*p.node()),
                                p.node()->released ? nullptr : p.node().get());
  }
  e.second = second_term(q);
  e.buffer = std::make_shared<Tensor>();
  return autograd::wrap("add", std::move(e));
}

}  // namespace octet
