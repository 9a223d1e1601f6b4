// Part of the planner: selects the stored pixels and their strides.
#include <numeric>
#include <vector>

#include "planner.h"

namespace octet::inference {

void Planner::skip_pixels() {
  // Stride of the consumed pixels of each storage; 0: none so far.
  std::vector<Size2> read(plan_.storages.size(), {0, 0});
  const auto add = [](Size2& all, const Size2& more) {
    all = {std::gcd(all.h, more.h), std::gcd(all.w, more.w)};
  };
  for (size_t i = 0; i < plan_.storages.size(); ++i) {
    const Storage& s = plan_.storages[i];
    if (s.tensor || s.slice_of >= 0) read[i] = {1, 1};
    if (s.slice_of >= 0) at(read, s.slice_of) = {1, 1};
  }
  for (auto& [output, step] : tables_) {
    const int x = table_inputs_.at(output);
    step.x = find_buffer(x, code_form_of(x), false);
    step.output = output;
    at(read, step.x) = {1, 1};
  }
  for (size_t i = graph_.calls.size(); i-- > 0;) {
    const Call& call = graph_.calls[i];
    if (!call.linear) {
      for (const int storage : reads_[i]) at(read, storage) = {1, 1};
      continue;
    }
    const LinearKernels& kernels = *call.linear->kernels;
    const auto sampling = kernels.sampling();
    const bool pixels = sampling && sampling->pixels && call.pads == Pads{} &&
                        kernels.padding() == Pads{};
    for (const int follower : followers(call)) {
      Size2 every{0, 0};  // over all outputs of the step
      for (const int output : at(outputs_, follower)) {
        add(every, at(read, output));
      }
      if (!sampling || every.h == 0) every = {1, 1};
      for (const int output : at(outputs_, follower)) {
        at(plan_.storages, output).every = every;
      }
      const int other = at(others_, follower);
      if (other >= 0) add(at(read, other), every);
      add(at(read, reads_[i][0]), pixels ? Size2{every.h * sampling->strides.h,
                                                 every.w * sampling->strides.w}
                                         : Size2{1, 1});
    }
  }
}

void Planner::pad_pixel_strides() {
  for (const auto& [sums, list] : followers_) {
    for (const int i : list) {
      for (const int output : at(outputs_, i)) {
        at(plan_.storages, output).pad_pixel_strides();
      }
    }
  }
}

}  // namespace octet::inference
