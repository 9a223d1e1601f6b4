#include "observe.h"

#include <exception>

#include <fmt/format.h>

#include "base/trace_events.h"
#include "inference/trace.h"

namespace octet::autograd {
namespace {

Tensor computed_value(Node& node) {
  if (!node.value.empty()) return node.value;
  // A copy: a node with a value is not extended by later ops.
  if (const Expression* e = node.expression()) return evaluate(*e);
  return value_of(node);
}

}  // namespace

void observe(Node& node) {
  if (node.observed) return;
  node.observed = true;
  // Leaves compute nothing, and values of a program being traced are undefined.
  if (dynamic_cast<Leaf*>(&node) != nullptr ||
      inference::active_trace() != nullptr) {
    return;
  }
  node.layer = diagnosis::current_layer();
  if (traces(TraceKind::ops)) {
    const int64_t end = diagnosis::now();
    int64_t& latest = diagnosis::latest_end();
    diagnosis::write_event({.category = "op",
                            .name = node.op,
                            .layer = node.layer,
                            .shape = node.shape.to_string(),
                            .begin = latest == 0 ? end : latest,
                            .end = end});
    latest = end;
  }
  if (checks_nan()) {
    check_finite(computed_value(node),
                 diagnosis::op_of_layer(node.op, node.layer));
  }
}

GradientObserver::GradientObserver(const Node& node, const Node*& running)
    : node_(node) {
  running = &node;
  if (traces(TraceKind::ops)) begin_ = diagnosis::now();
}

GradientObserver::~GradientObserver() {
  if (begin_ == 0 || node_.op == "leaf") return;
  try {
    diagnosis::write_event({.category = "gradient",
                            .name = node_.op,
                            .layer = node_.layer,
                            .shape = node_.shape.to_string(),
                            .begin = begin_,
                            .end = diagnosis::now()});
  } catch (const std::exception&) {
    // A trace is not worth an error.
  }
}

void expect_finite_gradient(const Node* from, const Node& to,
                            const Expression& gradient) {
  if (from == nullptr) return;
  check_finite(
      value_of(gradient),
      fmt::format("gradient of {}, for its input {}",
                  diagnosis::op_of_layer(from->op, from->layer), to.op));
}

}  // namespace octet::autograd
