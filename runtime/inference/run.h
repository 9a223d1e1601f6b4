// A run of a plan: the values of its storages, and the execution of its steps.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "plan.h"

namespace octet::inference {

/// One run of a plan for n samples.
class Run {
 public:
  Run(const Program::Plan& plan, int64_t n, LastingValues::Values lasting);
  ~Run() { plan_.workspaces->give(std::move(memory_)); }
  Run(const Run&) = delete;

  static int64_t floats_of(const Program::Plan& plan, int64_t n) {
    return plan.block * n / static_cast<int64_t>(sizeof(float)) + 16;
  }

  const Storage& storage(int id) const {
    return plan_.storages[static_cast<size_t>(id)];
  }
  void bind(int storage, const Tensor& tensor) { bound(storage) = tensor; }
  // Returns a tensor that a step or the caller has filled.
  const Tensor& tensor(int id) {
    const Storage& s = storage(id);
    Tensor& t = bound(id);
    if (s.slice_of >= 0) (void)tensor(s.slice_of);
    if (t.empty() && s.alias >= 0) {
      t = tensor(s.alias).reshaped(s.shape.with(0, n_));
    }
    return t;
  }
  bool nan() const { return nan_; }
  int64_t samples() const { return n_; }
  /// Returns a copy of the stored pixels [n,h,w,c] of a storage of floats, else
  /// an empty tensor. For diagnostics.
  Tensor values_of(int id);

  void step(const Step& step);

 private:
  Tensor& bound(int id) { return memory_.tensors[static_cast<size_t>(id)]; }
  void run(const FusedStep& step);
  void run(const EvaluateStep& step);
  void run(const PoolStep& step);
  void run(const TableStep& step);
  // Output rows [first, last) of a step.
  void pool(const kernels::MaxPool& sizes, const PoolStep& step, int64_t image,
            int64_t first, int64_t last);
  void pool(const NearestPixels& pixels, const PoolStep& step, int64_t image,
            int64_t first, int64_t last);
  void run(const OpStep& step);
  void run(const CallStep& step, const std::string& name);
  void store_slice(const autograd::ExpressionEvaluator& consumer,
                   const autograd::ExpressionEvaluator::ImageRows& rows,
                   int output);
  void store(const autograd::ExpressionEvaluator& consumer,
             const autograd::ExpressionEvaluator::ImageRows& rows, int output,
             int64_t image, int64_t row);
  // Part of a step for one thread.
  struct Part {
    int64_t image;        // unused if the step is flat
    int64_t first, last;  // rows, or pixels if flat
    int64_t first_channel, last_channel;
  };
  void run(const FusedStep& step, const Part& part);
  int64_t channel_parts(const FusedStep& step, int64_t pixels) const;

  // Binds an output tensor to its part of the block, unless it is external.
  void prepare(int id) {
    const Storage& s = storage(id);
    if (s.slice_of >= 0) prepare(s.slice_of);
    if (!s.tensor || s.external || s.lasting) return;
    bind_part(id, memory_.block, n_);
  }
  // Binds a tensor to its part of a block for `samples` samples.
  void bind_part(int id, const Tensor& block, int64_t samples) {
    const Storage& s = storage(id);
    constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
    bind(id, block.slice(s.offset * samples / kFloat, s.size * n_)
                 .reshaped(s.shape.with(0, n_)));
  }
  // Returns the address of an image with its padding.
  char* image_of(int id, int64_t image) {
    const Storage& s = storage(id);
    if (s.slice_of >= 0) {
      return image_of(s.slice_of, image) + s.channel * s.element;
    }
    char* base = s.tensor    ? static_cast<char*>(bound(id).raw())
                 : s.lasting ? lasting_at_ + s.offset * lasting_.samples
                             : block_at_ + s.offset * n_;
    return base + image * s.bytes();
  }
  // Returns the address of a row after its padding.
  char* row_of(int id, int64_t image, int64_t row) {
    const Storage& s = storage(id);
    return image_of(id, image) +
           ((s.pads.top + row) * s.row + s.pads.left * s.pixel) * s.element;
  }
  // Clears the padding around rows [first, last). The slice with the first
  // channels clears it for all.
  void pad(int id, int64_t image, int64_t first, int64_t last);

  const Program::Plan& plan_;
  int64_t n_;
  Workspace memory_;
  LastingValues::Values lasting_;
  char* block_at_;
  char* lasting_at_ = nullptr;
  std::atomic<bool> nan_ = false;
};

}  // namespace octet::inference
