#include "samples_run.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet::program {

Shape sample(const Shape& shape) { return shape.slice(1, shape.rank()); }

namespace {

/// Returns the batch size; 0 to run all inputs at once.
int64_t batch_of(const SamplesRun& run, int64_t n) {
  const Predictor& model = run.model;
  const std::string& what = run.source.what;
  if (!model.samples) return run.batch;
  const int64_t fixed = *model.samples;
  if (fixed == Shape::kAnySize) return run.batch == 0 ? model.batch : run.batch;
  if (run.batch != 0 && run.batch != fixed) {
    throw ValueError(
        "conflicting_options", "--batch",
        fmt::format("must be {}, the fixed batch size of '{}', got {}", fixed,
                    what, run.batch));
  }
  if (fixed < 1 || n % fixed != 0) {
    throw ShapeError("count_mismatch", run.files[0],
                     fmt::format("number of samples must be a multiple of {}, "
                                 "the batch size of '{}', got {}",
                                 fixed, what, n));
  }
  return fixed;
}

/// Allocates the results of n samples; `part` has the results of some samples.
/// The size depends on the file, hence the limit.
Tensor make_results(const Tensor& part, int64_t n, const ModelSource& source) {
  const Shape one = sample(part.shape());
  const int64_t room = source.limits().memory_limit / n;
  if (one.size() > room / size_of(part.dtype())) {
    throw FormatError(
        "memory_limit", source.what,
        fmt::format("results {} of {} samples exceed {} MiB. Hint: pass fewer "
                    "samples, or raise --memory-limit",
                    one.to_string(), n, source.memory_mib));
  }
  return Tensor(part.shape().with(0, n), part.dtype());
}

/// Copies the results of samples from `first` on to their position in y.
void place(const Tensor& part, int64_t first, int64_t count, int64_t n,
           const ModelSource& source, Tensor& y) {
  if (part.shape().rank() < 1 || part.shape()[0] != count ||
      (!y.empty() && sample(y.shape()) != sample(part.shape()))) {
    throw UnsupportedError(
        "unsupported_model", "predict",
        fmt::format(
            "outputs must have one result per sample, got {} for {} samples. "
            "Hint: run all samples at once with --batch {}, without --labels",
            part.shape().to_string(), count, n));
  }
  if (y.empty()) y = make_results(part, n, source);
  Tensor rows = y.slice(first, count);
  std::memcpy(rows.raw(), part.raw(), static_cast<size_t>(part.bytes()));
}

std::vector<Tensor> slices(const std::vector<Tensor>& inputs, int64_t first,
                           int64_t count) {
  std::vector<Tensor> part;
  part.reserve(inputs.size());
  for (const Tensor& x : inputs) part.push_back(x.slice(first, count));
  return part;
}

/// Whether results are equal up to the order of float sums.
bool is_close(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  if (a.dtype() != DType::f32) {
    return std::memcmp(a.raw(), b.raw(), static_cast<size_t>(a.bytes())) == 0;
  }
  constexpr float kRelative = 1e-3f;
  float largest = 0;
  for (const float v : a.f32()) {
    if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
  }
  return std::ranges::equal(a.f32(), b.f32(), [&](float x, float y) {
    return x == y || (std::isnan(x) && std::isnan(y)) ||
           std::fabs(x - y) <= kRelative * largest;
  });
}

/// Whether the last sample of a batch has the same results alone. False for a
/// file whose axis 0 is a sequence, or that normalizes over the batch.
bool is_independent(const SamplesRun& run, int64_t count,
                    const std::vector<Tensor>& results) {
  const std::vector<Tensor> alone =
      run.model.predict(slices(run.inputs, count - 1, 1));
  for (size_t i = 0; i < alone.size(); ++i) {
    if (!run.needed[i]) continue;
    const Tensor& y = results[i];
    if (y.shape().rank() < 1 || y.shape()[0] != count ||
        !is_close(alone[i], y.slice(count - 1, 1))) {
      return false;
    }
  }
  return true;
}

std::vector<Tensor> run_at_once(const SamplesRun& run, int64_t n) {
  std::vector<Tensor> all = run.model.predict(run.inputs);
  for (size_t i = 0; i < all.size(); ++i) {
    if (!run.needed[i]) all[i] = Tensor();
    // A single run: the first axis need not be the batch axis.
    if (!run.per_sample[i]) continue;
    Tensor rows;
    place(all[i], 0, n, n, run.source, rows);
  }
  return all;
}

}  // namespace

int64_t sample_count(const std::vector<Tensor>& inputs) {
  int64_t n = 1;
  for (const Tensor& x : inputs) {
    const int64_t own = x.shape().rank() < 1 ? 1 : x.shape()[0];
    if (&x != inputs.data() && own != n) return 1;
    n = own;
  }
  return n;
}

std::vector<Tensor> run_samples(const SamplesRun& run) {
  const int64_t n = sample_count(run.inputs);
  const int64_t batch = batch_of(run, n);
  if (batch == 0 || n <= batch) return run_at_once(run, n);
  const bool check = run.model.check_independence && run.batch == 0 &&
                     run.model.samples == Shape::kAnySize;
  std::vector<Tensor> all(run.model.outputs.size());
  for (int64_t first = 0; first < n; first += batch) {
    const int64_t count = std::min(batch, n - first);
    const std::vector<Tensor> part =
        run.model.predict(slices(run.inputs, first, count));
    if (first == 0 && check && !is_independent(run, count, part)) {
      warn("samples_interact", run.source.what,
           fmt::format("results depend on the other samples of a batch, so all "
                       "{} run at once. Hint: --batch 1 runs them separately",
                       n));
      return run_at_once(run, n);
    }
    for (size_t i = 0; i < all.size(); ++i) {
      if (run.needed[i]) place(part[i], first, count, n, run.source, all[i]);
    }
  }
  return all;
}

}  // namespace octet::program
