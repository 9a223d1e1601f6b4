#include "convolution_geometry.h"

#include <algorithm>

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet {
namespace {

void check(const Shape& x, const Shape& kernel, const WindowOptions& o,
           const ConvolutionKind& kind) {
  if (kind.groups < 1) {
    throw ValueError(
        "out_of_range", kind.op,
        fmt::format("groups must be positive, got {}", kind.groups));
  }
  const int rank = kind.axes + 2;
  if (x.rank() != rank || kernel.rank() != rank || x[-1] % kind.groups != 0 ||
      x[-1] / kind.groups != kernel[-2]) {
    throw ShapeError(
        "shape_mismatch", kind.op,
        fmt::format(
            "x must be [n,{},c] and the kernel [{},c{},k], got {} and {}",
            kind.input_axes(), kind.kernel_axes(),
            kind.groups == 1 ? "" : fmt::format("/{}", kind.groups),
            x.to_string(), kernel.to_string()));
  }
  if (kernel[-1] % kind.groups != 0) {
    throw ShapeError(
        "invalid_shape", kind.op,
        fmt::format(
            "groups must divide the output channels, got {} for kernel {}",
            kind.groups, kernel.to_string()));
  }
  for (const int64_t value :
       {o.strides.h, o.strides.w, o.dilation.h, o.dilation.w, kernel[0],
        kernel[1], kernel[2], kernel[-1]}) {
    if (value < 1) {
      throw ValueError(
          "out_of_range", kind.op,
          fmt::format(
              "strides, dilation and kernel sizes must be positive, got {}",
              value));
    }
  }
  for (const int64_t pad :
       {o.pads.top, o.pads.bottom, o.pads.left, o.pads.right}) {
    if (pad < 0 || pad > kMaxWindow) {
      throw ValueError(
          "out_of_range", kind.op,
          fmt::format("pads must be in [0,{}], got {}", kMaxWindow, pad));
    }
  }
}

// Kernel taps of an axis that reach the pixels phase + i*stride, with the
// output they reach at i = 0; taps descend, outputs ascend.
struct Reach {
  int64_t tap;
  int64_t output;
};
std::vector<Reach> reach(int64_t phase, int64_t taps, int64_t stride,
                         int64_t dilation, int64_t pad) {
  std::vector<Reach> result;
  for (int64_t tap = taps - 1; tap >= 0; --tap) {
    const int64_t distance = phase + pad - tap * dilation;
    if (distance % stride == 0) result.push_back({tap, distance / stride});
  }
  return result;
}

// Widens the padding of dy for taps reached from `count` pixels.
void widen(const std::vector<Reach>& taps, int64_t count, int64_t outputs,
           int64_t& before, int64_t& after) {
  for (const Reach& tap : taps) {
    before = std::max(before, -tap.output);
    after = std::max(after, tap.output + count - outputs);
  }
}

}  // namespace

int64_t window_positions(int64_t size, int64_t window, int64_t stride,
                         int64_t dilation, int64_t pads) {
  if (stride < 1) {
    throw ValueError("out_of_range", "window",
                     fmt::format("stride must be positive, got {}", stride));
  }
  const int64_t largest = std::max({window, stride, dilation, pads / 2});
  if (largest > kMaxWindow) {
    throw ValueError(
        "out_of_range", "window",
        fmt::format(
            "size, stride, dilation and pads must be at most {}, got {}",
            kMaxWindow, largest));
  }
  const int64_t room = size + pads - ((window - 1) * dilation + 1);
  return room < 0 ? 0 : room / stride + 1;
}

ConvolutionGeometry::ConvolutionGeometry(const Shape& x, const Shape& kernel,
                                         const WindowOptions& o,
                                         const ConvolutionKind& kind) {
  check(x, kernel, o, kind);
  axes = kind.axes;
  n = x[0];
  h = axes == 1 ? 1 : x[1];
  w = x[-2];
  c = x[-1];
  kh = axes == 1 ? 1 : kernel[0];
  kw = kernel[-3];
  k = kernel[-1];
  groups = kind.groups;
  strides = o.strides;
  dilation = o.dilation;
  padding = o.pads;
  oh = window_positions(h, kh, strides.h, o.dilation.h,
                        padding.top + padding.bottom);
  ow = window_positions(w, kw, strides.w, o.dilation.w,
                        padding.left + padding.right);
  if (oh < 1 || ow < 1) {
    const int64_t width = (kw - 1) * o.dilation.w + 1;
    throw ShapeError(
        "invalid_shape", kind.op,
        fmt::format("the kernel needs {} including padding, got {}",
                    axes == 1 ? fmt::format("a sequence of at least {}", width)
                              : fmt::format("an image of at least {}x{}",
                                            (kh - 1) * o.dilation.h + 1, width),
                    x.to_string()));
  }

  // The limit of Tensor, which does not see padded images.
  constexpr int64_t kMostFloats = int64_t{1} << 44;
  const Shape padded{padding.top + h + padding.bottom, padded_width(), c};
  if (padded.size() > kMostFloats) {
    throw ShapeError("memory_limit", kind.op,
                     fmt::format("padded images {} do not fit in memory",
                                 padded.to_string()));
  }

  const bool merged = kind.merged && groups == 1;
  const bool whole_rows = merged && o.dilation.w == 1;
  steps = whole_rows ? kw * c : group_c();
  for (int64_t i = 0; i < kh; ++i) {
    const int64_t row = i * o.dilation.h * padded_width() * c;
    for (int64_t j = 0; j < (whole_rows ? 1 : kw); ++j) {
      segments.push_back(row + j * o.dilation.w * c);
    }
  }

  struct Axis {
    std::vector<Reach> taps;
    int64_t count;
  };
  std::vector<Axis> rows, cols;
  for (int64_t p = 0; p < std::min(strides.h, h); ++p) {
    rows.push_back({reach(p, kh, strides.h, o.dilation.h, o.pads.top),
                    (h - p + strides.h - 1) / strides.h});
    widen(rows.back().taps, rows.back().count, oh, dy_padding.top,
          dy_padding.bottom);
  }
  for (int64_t p = 0; p < std::min(strides.w, w); ++p) {
    cols.push_back({reach(p, kw, strides.w, o.dilation.w, o.pads.left),
                    (w - p + strides.w - 1) / strides.w});
    widen(cols.back().taps, cols.back().count, ow, dy_padding.left,
          dy_padding.right);
  }
  for (size_t ph = 0; ph < rows.size(); ++ph) {
    for (size_t pw = 0; pw < cols.size(); ++pw) {
      const std::vector<Reach>& across = cols[pw].taps;
      // Adjacent taps that reach adjacent outputs form a single run.
      bool run = merged && !across.empty();
      for (size_t j = 1; j < across.size(); ++j) {
        run &= across[j].output == across[j - 1].output + 1;
      }
      Phase phase{static_cast<int64_t>(ph),
                  static_cast<int64_t>(pw),
                  rows[ph].count,
                  cols[pw].count,
                  {},
                  {},
                  run ? k * static_cast<int64_t>(across.size()) : group_k()};
      for (const Reach& down : rows[ph].taps) {
        for (size_t j = 0; j < across.size(); ++j) {
          phase.taps.push_back(down.tap * kw + across[j].tap);
          if (run && j > 0) continue;
          phase.segments.push_back(
              ((down.output + dy_padding.top) * dy_width() + across[j].output +
               dy_padding.left) *
              k);
        }
      }
      phases.push_back(std::move(phase));
    }
  }
}

ConvolutionGeometry::InputRows ConvolutionGeometry::input_rows(
    int64_t first, int64_t last) const {
  const int64_t from = first * strides.h - padding.top;
  // The last band takes all remaining rows, even if no window uses them: the
  // first evaluation must store everything.
  const int64_t count =
      last == oh ? h + padding.bottom - from
                 : (last - 1 - first) * strides.h + (kh - 1) * dilation.h + 1;
  InputRows rows{std::clamp<int64_t>(from, 0, h),
                 std::clamp<int64_t>(from + count, 0, h), padding};
  rows.padding.top = std::clamp<int64_t>(-from, 0, count);
  rows.padding.bottom = count - rows.padding.top - (rows.last - rows.first);
  return rows;
}

}  // namespace octet
