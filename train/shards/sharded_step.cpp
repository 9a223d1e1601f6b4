#include "sharded_step.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>

#include "bytes.h"
#include "cut.h"
#include "gradient_squares.h"
#include "together.h"

namespace octet::train {
namespace {

constexpr int64_t kChunk = 1 << 16;  // elements that one task adds

/// Runs of whole parameters, about as many elements each: where they begin.
std::vector<size_t> cut(std::span<const int64_t> offsets, size_t ranks) {
  const size_t count = offsets.size() - 1;
  std::vector<size_t> begins{0};
  for (size_t r = 1; r < ranks; ++r) {
    const int64_t wanted =
        offsets.back() / static_cast<int64_t>(ranks) * static_cast<int64_t>(r);
    size_t at = begins.back() + 1;  // none is without a parameter
    const size_t most = count - (ranks - r);
    while (at < most && offsets[at + 1] - wanted <= wanted - offsets[at]) ++at;
    begins.push_back(std::min(at, most));
  }
  begins.push_back(count);
  return begins;
}

void write(BytesWriter& bytes, const BatchSums& sums) {
  bytes.add_value(sums.loss);
  bytes.add_value(sums.regularization);
  bytes.add_list(std::span<const double>(sums.metrics));
}

BatchSums read_sums(BytesReader& bytes) {
  BatchSums sums;
  sums.loss = bytes.value<double>();
  sums.regularization = bytes.value<double>();
  sums.metrics = bytes.list<double>();
  return sums;
}

void add_sums(BatchSums& to, const BatchSums& from) {
  to.loss += from.loss;
  to.regularization += from.regularization;
  to.metrics.resize(std::max(to.metrics.size(), from.metrics.size()));
  for (size_t i = 0; i < from.metrics.size(); ++i) {
    to.metrics[i] += from.metrics[i];
  }
}

}  // namespace

ShardedStep::ShardedStep(Model& model, Communicator& ranks, int64_t shards,
                         std::vector<Variable> parameters)
    : model_(model),
      ranks_(ranks),
      shards_(shards),
      parameters_(std::move(parameters)),
      first_(shards / ranks.size() * ranks.rank()),
      last_(first_ + shards / ranks.size()),
      tree_(add) {
  const auto count = static_cast<size_t>(ranks.size());
  if (parameters_.size() < count) {
    throw ValueError(
        fmt::format("fit: expected at most as many ranks as parameters of "
                    "model '{}', which are {}, got {}",
                    model.name(), parameters_.size(), count));
  }
  offsets_.push_back(0);
  for (const Variable& parameter : parameters_) {
    offsets_.push_back(offsets_.back() + parameter.shape().size());
  }
  owners_ = cut(offsets_, count);
  for (const size_t owner : owners_) bounds_.push_back(offsets_[owner]);
  sums_.resize(owned().size());
  if (count > 1) flat_.resize(static_cast<size_t>(offsets_.back()));
}

std::span<const Variable> ShardedStep::owned() const {
  const size_t end = owners_[static_cast<size_t>(ranks_.rank()) + 1];
  return std::span(parameters_).subspan(first_owned(), end - first_owned());
}

std::span<float> ShardedStep::flat_of(size_t parameter) {
  return std::span(flat_).subspan(
      static_cast<size_t>(offsets_[parameter]),
      static_cast<size_t>(offsets_[parameter + 1] - offsets_[parameter]));
}

void ShardedStep::add(Gradients& to, const Gradients& from) {
  struct Part {
    float* to;
    const float* from;
    int64_t size;
  };
  std::vector<Part> parts;
  for (size_t i = 0; i < to.size(); ++i) {
    if (from[i].empty()) continue;
    if (to[i].empty()) {
      to[i] = from[i];
      continue;
    }
    float* const at = to[i].f32().data();
    const float* const source = from[i].f32().data();
    for (int64_t first = 0; first < to[i].size(); first += kChunk) {
      parts.push_back(
          {at + first, source + first, std::min(kChunk, to[i].size() - first)});
    }
  }
  parallel_for(std::ssize(parts), [&](int64_t p) {
    const Part& part = parts[static_cast<size_t>(p)];
    for (int64_t i = 0; i < part.size; ++i) part.to[i] += part.from[i];
  });
}

void ShardedStep::take_gradients() {
  Gradients gradients;
  for (const Variable& parameter : parameters_) {
    gradients.push_back(parameter.grad());
    parameter.zero_grad();
  }
  tree_.push(std::move(gradients));
}

BatchSums ShardedStep::add_batch(
    int64_t samples, const std::function<BatchSums(int64_t)>& compute) {
  return whole() ? compute(samples) : add_shards(samples, compute);
}

BatchSums ShardedStep::add_shards(
    int64_t samples, const std::function<BatchSums(int64_t)>& compute) {
  MovingState moving(model_);
  const uint64_t pass = model_.training_passes();
  std::optional<Gradients> partial;
  const std::vector<std::string> told = together(ranks_, [&] {
    BytesWriter bytes;
    for (int64_t shard = first_; shard < last_; ++shard) {
      const int64_t size = shard_size(samples, shards_, shard);
      moving.rewind();
      // Random layers draw from streams that are numbered by the pass.
      model_.set_training_passes(pass + static_cast<uint64_t>(shard));
      write(bytes, compute(size));
      moving.take(size);
      if (size > 0) {
        take_gradients();
      } else {
        tree_.push({});
      }
    }
    model_.set_training_passes(pass + static_cast<uint64_t>(shards_));
    partial = tree_.take();
    moving.write(bytes);
    return bytes.take();
  });
  BatchSums sums;
  std::vector<BytesReader> readers(told.begin(), told.end());
  for (BytesReader& bytes : readers) {
    for (int64_t shard = first_; shard < last_; ++shard) {
      add_sums(sums, read_sums(bytes));
    }
  }
  moving.merge(readers, samples);
  reduce(partial, samples);
  return sums;
}

void ShardedStep::reduce(const std::optional<Gradients>& partial,
                         int64_t samples) {
  if (ranks_.size() == 1) return add(sums_, *partial);
  // Shards without samples are the last ones.
  const int64_t own = shards_ / ranks_.size();
  const auto busy = static_cast<int>(std::min<int64_t>(
      (std::min(samples, shards_) + own - 1) / own, ranks_.size()));
  if (partial) {
    parallel_for(std::ssize(parameters_), [&](int64_t p) {
      const auto i = static_cast<size_t>(p);
      const Tensor& gradient = (*partial)[i];
      if (gradient.empty()) {
        std::ranges::fill(flat_of(i), 0.0f);
      } else {
        std::ranges::copy(gradient.f32(), flat_of(i).begin());
      }
    });
  }
  // Which parameters have a gradient: the same in all shards.
  std::string there;
  if (partial) {
    for (const Tensor& gradient : *partial) there += gradient.empty() ? 0 : 1;
  }
  if (busy < ranks_.size()) there = ranks_.broadcast(0, there);
  ranks_.sum_slices(flat_, bounds_, busy);
  Gradients total(sums_.size());
  const size_t begin = first_owned();
  for (size_t i = 0; i < total.size(); ++i) {
    if (there[begin + i] == 0) continue;
    total[i] = Tensor::of(owned()[i].shape(),
                          std::span<const float>(flat_of(begin + i)));
  }
  add(sums_, total);
}

void ShardedStep::deliver() {
  if (whole()) return;
  for (size_t i = 0; i < sums_.size(); ++i) {
    if (!sums_[i].empty()) owned()[i].set_grad(sums_[i]);
    sums_[i] = {};
  }
}

void ShardedStep::share() {
  if (ranks_.size() == 1) return;
  const size_t begin = first_owned();
  for (size_t i = 0; i < owned().size(); ++i) {
    std::ranges::copy(owned()[i].value().f32(), flat_of(begin + i).begin());
  }
  ranks_.share_slices(flat_, bounds_);
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (i >= begin && i < begin + owned().size()) continue;
    const auto to = parameters_[i].mutable_value();
    std::ranges::copy(flat_of(i), to.begin());
  }
}

double ShardedStep::gradient_norm() {
  const std::vector<double> own = gradient_squares(owned());
  BytesWriter bytes;
  bytes.add_list(std::span<const double>(own));
  double sum = 0;
  for (const std::string& text : ranks_.gather(bytes.take())) {
    for (const double each : BytesReader(text).list<double>()) sum += each;
  }
  return std::sqrt(sum);
}

}  // namespace octet::train
