#include "gradient_exchange.h"

#include <algorithm>
#include <utility>

#include "float_tree.h"

namespace octet::train {
namespace {

/// Minimum number of elements per message, except the last of an owner.
constexpr int64_t kRun = 1 << 18;

}  // namespace

GradientExchange::GradientExchange(Communicator& ranks,
                                   std::span<const int64_t> offsets,
                                   std::span<const size_t> owners)
    : ranks_(ranks),
      offsets_(offsets.begin(), offsets.end()),
      group_of_(offsets.size() - 1),
      flat_(static_cast<size_t>(offsets.back())) {
  for (size_t owner = owners.size() - 1; owner-- > 0;) {
    for (size_t last = owners[owner + 1]; last > owners[owner];) {
      size_t first = last - 1;
      while (first > owners[owner] && offsets_[last] - offsets_[first] < kRun) {
        --first;
      }
      for (size_t p = first; p < last; ++p) group_of_[p] = groups_.size();
      groups_.push_back({.first = first, .last = last, .owner = owner});
      last = first;
    }
  }
}

std::span<float> GradientExchange::elements(size_t first, size_t last) {
  return std::span(flat_).subspan(
      static_cast<size_t>(offsets_[first]),
      static_cast<size_t>(offsets_[last] - offsets_[first]));
}

void GradientExchange::begin(int busy) {
  busy_ = static_cast<size_t>(busy);
  sent_ = 0;
  done_ = 0;
  for (ParameterGroup& run : groups_) run.missing = run.last - run.first;
}

void GradientExchange::put(size_t parameter, const Tensor& gradient) {
  const std::span<float> to = elements(parameter, parameter + 1);
  if (gradient.empty()) {
    std::ranges::fill(to, 0.0f);
  } else {
    std::ranges::copy(gradient.f32(), to.begin());
  }
  --groups_[group_of_[parameter]].missing;
}

void GradientExchange::progress() {
  for (; sent_ < groups_.size() && groups_[sent_].missing == 0; ++sent_) {
    send(groups_[sent_]);
  }
  // The progress of one exchange advances the others, too.
  while (done_ < sent_ && groups_[done_].exchange->progress()) ++done_;
}

void GradientExchange::send(ParameterGroup& run) {
  const auto all = static_cast<size_t>(ranks_.size());
  const auto own = static_cast<size_t>(ranks_.rank());
  const std::span<float> values = elements(run.first, run.last);
  std::vector<std::span<const std::byte>> to(all);
  std::vector<std::span<std::byte>> from(all);
  if (own < busy_) to[run.owner] = std::as_bytes(values);
  if (own == run.owner) {
    run.terms.resize(busy_ * values.size());
    for (size_t r = 0; r < busy_; ++r) {
      from[r] = std::as_writable_bytes(
          std::span(run.terms).subspan(r * values.size(), values.size()));
    }
  }
  run.exchange = ranks_.begin_exchange(std::move(to), std::move(from));
}

void GradientExchange::finish() {
  for (; sent_ < groups_.size(); ++sent_) send(groups_[sent_]);
  for (ParameterGroup& run : groups_) {
    run.exchange->wait();
    run.exchange.reset();
    if (static_cast<size_t>(ranks_.rank()) == run.owner) {
      sum_terms(run.terms, elements(run.first, run.last));
    }
  }
}

std::span<const float> GradientExchange::sum(size_t parameter) {
  return elements(parameter, parameter + 1);
}

}  // namespace octet::train
