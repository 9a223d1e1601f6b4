// Maximum and average pooling.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include <fmt/format.h>

#include <octet/runtime/parallel.h>

#include "deadline.h"
#include "numbers.h"
#include "operators.h"
#include "window.h"

namespace octet::io::run {
namespace {

Windows pool_windows(const NodeContext& context, const Tensor& x) {
  const bool ceil = context.integer("ceil_mode", 0) != 0;
  const Windows windows =
      windows_of(context, x, context.integers("kernel_shape"),
                 ceil ? Rounding::ceil : Rounding::floor);
  for (const Window& w : windows) {
    if (w.before >= w.extent() || w.after >= w.extent()) {
      context.refuse(fmt::format(
          "pads must be smaller than the kernel of {} cells, got {} and {}",
          w.extent(), w.before, w.after));
    }
  }
  return windows;
}

// Calls body(image, output index, row and column of the output, pace) for each
// output; an image is a channel of a sample.
template <class Body>
void for_each_output(const NodeContext& context, const Tensor& x,
                     const Windows& windows, const Body& body) {
  const Window& rows = windows[0];
  const Window& columns = windows[1];
  parallel_for(x.shape()[0] * x.shape()[1], [&](int64_t image) {
    DeadlineCheck pace(context);
    for (int64_t h = 0; h < rows.out; ++h) {
      for (int64_t w = 0; w < columns.out; ++w) {
        body(image, (image * rows.out + h) * columns.out + w, h, w, pace);
      }
    }
  });
}

// Number of cells of the padded image within an output's window.
int64_t padded_cells(const Window& w, int64_t o) {
  const int64_t room = w.in + w.after - w.position(o, 0);
  return std::min(w.kernel, (room + w.dilation - 1) / w.dilation);
}

template <class T>
struct Largest {
  T value = std::numeric_limits<T>::lowest();
  int64_t index = 0;

  void see(T x, int64_t at) {
    bool larger = x > value;
    if constexpr (std::is_floating_point_v<T>) {
      larger = larger || std::isnan(x);
    }
    if (!larger) return;
    value = x;
    index = at;
  }
};

template <class T>
Largest<T> largest(const T* x, const Windows& windows, int64_t image, int64_t h,
                   int64_t w, DeadlineCheck& pace) {
  const Window& rows = windows[0];
  const Window& columns = windows[1];
  const Range down = rows.taps_of(h), along = columns.taps_of(w);
  Largest<T> largest;
  for (int64_t kh = down.first; kh < down.last; ++kh) {
    const int64_t row = image * rows.in + rows.position(h, kh);
    pace.add(1 + along.size());
    for (int64_t kw = along.first; kw < along.last; ++kw) {
      const int64_t at = row * columns.in + columns.position(w, kw);
      largest.see(x[at], at);
    }
  }
  return largest;
}

Values max_pool(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const Windows windows = pool_windows(context, x);
  const Sizes dims = output_dims(x, x.shape()[1], windows);
  const bool indices = context.wants(1);
  if (indices && context.integer("storage_order", 0) != 0) {
    context.unsupported("storage_order must be 0 (rows), got columns");
  }
  Tensor y = context.make(dims, x.dtype());
  Tensor found = context.make(indices ? dims : Sizes{0}, DType::i64);
  visit<float, int8_t, uint8_t>(context, x.dtype(), [&]<class T>(T) {
    const T* from = x.data<T>().data();
    T* to = y.data<T>().data();
    int64_t* at = found.data<int64_t>().data();
    for_each_output(context, x, windows,
                    [&](int64_t image, int64_t i, int64_t h, int64_t w,
                        DeadlineCheck& pace) {
                      const Largest<T> top =
                          largest(from, windows, image, h, w, pace);
                      to[i] = top.value;
                      if (indices) at[i] = top.index;
                    });
  });
  if (!indices) return {y};
  return {y, found};
}

Values average_pool(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const Windows windows = pool_windows(context, x);
  const Window& rows = windows[0];
  const Window& columns = windows[1];
  const bool pads_count = context.integer("count_include_pad", 0) != 0;
  Tensor y = context.make(output_dims(x, x.shape()[1], windows), DType::f32);
  const float* from = x.f32().data();
  float* to = y.f32().data();
  for_each_output(
      context, x, windows,
      [&](int64_t image, int64_t i, int64_t h, int64_t w, DeadlineCheck& pace) {
        const Range down = rows.taps_of(h), along = columns.taps_of(w);
        double sum = 0;
        for (int64_t kh = down.first; kh < down.last; ++kh) {
          const float* row =
              from + (image * rows.in + rows.position(h, kh)) * columns.in;
          pace.add(1 + along.size());
          for (int64_t kw = along.first; kw < along.last; ++kw) {
            sum += row[columns.position(w, kw)];
          }
        }
        const int64_t cells =
            pads_count ? padded_cells(rows, h) * padded_cells(columns, w)
                       : down.size() * along.size();
        to[i] = static_cast<float>(sum / static_cast<double>(cells));
      });
  return {y};
}

}  // namespace

Operators pooling_operators() {
  static constexpr NamedOperator kOperators[] = {
      {"AveragePool", average_pool},
      {"MaxPool", max_pool},
  };
  return kOperators;
}

}  // namespace octet::io::run
