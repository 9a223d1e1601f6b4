// Traces and checks of ops and gradients (system.h).
#pragma once

#include <octet/runtime/system.h>

#include "node.h"

namespace octet::autograd {

/// Whether ops are traced or checked.
inline bool observing() {
  constexpr auto kOps = static_cast<uint32_t>(TraceKind::ops);
  return detail::diagnoses(kOps | detail::kChecksNan);
}

/// Reports a node when its first Variable is created: the op has computed its
/// value, or deferred it. Checks evaluate deferred values.
/// Throws: ValueError for a result that is not finite.
void observe(Node& node);

/// Times the gradient of a node, and sets `running` to the node.
class GradientObserver {
 public:
  GradientObserver(const Node& node, const Node*& running);
  ~GradientObserver();
  GradientObserver(const GradientObserver&) = delete;
  GradientObserver& operator=(const GradientObserver&) = delete;

 private:
  const Node& node_;
  int64_t begin_ = 0;
};

/// Throws: ValueError if the gradient that `from` delivers to an input is not
/// finite.
void expect_finite_gradient(const Node* from, const Node& to,
                            const Expression& gradient);

}  // namespace octet::autograd
