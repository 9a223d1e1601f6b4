// Counts the allocations of a session's runs.
#pragma once

#include <vector>

#include <gtest/gtest.h>

#include <octet/layers/inference_session.h>
#include <octet/runtime/parallel.h>
#include <octet/runtime/system.h>

#include "heap_allocations.h"
#include "runtime/tensor/arena.h"
#include "support.h"

namespace octet {

/// Runs sessions of the model for full and partial batches. Expects the model's
/// outputs and that run_into() allocates nothing, run() its outputs only.
inline void expect_no_allocations(const Model& model) {
  const ThreadCountGuard restored;
  set_num_threads(1);
  for (const int64_t max_batch : {1, 3}) {
    const InferenceSession session(model, {.max_batch = max_batch});
    for (const ProgramStep& step : session.steps()) {
      EXPECT_NE(step.op, "call") << step.name;
    }
    for (int64_t n = 1; n <= max_batch; n += 2) {
      SCOPED_TRACE(testing::Message() << n << " of " << max_batch);
      std::vector<Tensor> x, y;
      for (const SymbolicTensor& input : model.inputs()) {
        x.push_back(noise(input.shape().with(0, n)));
      }
      for (const SymbolicTensor& output : model.outputs()) {
        y.push_back(Tensor(output.shape().with(0, n)));
      }
      release_memory();  // no idle memory
      const int64_t before = arena::system_allocations();
      session.run_into(x, y);
      EXPECT_EQ(arena::system_allocations() - before, 0);
      const int64_t heap = heap_allocations().count;
      session.run_into(x, y);
      EXPECT_EQ(heap_allocations().count - heap, 0);
      const std::vector<Tensor> outputs = session.run(x);
      EXPECT_LE(arena::system_allocations() - before, std::ssize(outputs));
      const NoGradGuard no_grad;
      const std::vector<Variable> expected =
          model(std::vector<Variable>(x.begin(), x.end()));
      for (size_t i = 0; i < y.size(); ++i) {
        EXPECT_EQ(bits(y[i]), bits(expected[i].value()));
        EXPECT_EQ(bits(outputs[i]), bits(y[i]));
      }
    }
  }
}

}  // namespace octet
