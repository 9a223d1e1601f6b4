// Means, maxima, minima and sums over axes of a sample, as pooling over all
// pixels or over the rows of a matrix of those axes.
#include <algorithm>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "keras/operation_forms.h"

namespace octet::io {
namespace {

struct Reduction {
  std::vector<int64_t> gone;  // reduced axes, sorted
  std::vector<int64_t> kept;
  int64_t count = 1;  // number of reduced values
  bool keepdims = false;
};

Reduction reduction_of(const Settings& settings, const Shape& x) {
  if (!settings.find({"initial"}).is_null()) {
    throw UnsupportedError("unsupported_attribute", "initial",
                           "is not supported");
  }
  const int rank = x.rank();
  const Config axes = settings.find_or_positional({"axis"});
  Reduction r;
  r.keepdims = settings.find({"keepdims", "keep_dims"}) == Config(true);
  if (axes.is_null()) {
    throw UnsupportedError(
        "unsupported_attribute", "axis",
        fmt::format(
            "must be axes of a sample, got all axes of {} including the batch",
            x.to_string()));
  }
  const Config::List all = axes.is_list() ? axes.as_list() : Config::List{axes};
  for (const Config& axis : all) r.gone.push_back(axis_of(axis, rank));
  std::ranges::sort(r.gone);
  for (int axis = 1; axis < rank; ++axis) {
    if (std::ranges::find(r.gone, axis) == r.gone.end()) {
      r.kept.push_back(axis);
    } else {
      r.count *= x[axis];
    }
  }
  const bool twice = std::ranges::adjacent_find(r.gone) != r.gone.end();
  if (twice || r.gone.empty() || (r.kept.empty() && !r.keepdims)) {
    throw UnsupportedError(
        "unsupported_attribute", "axis",
        fmt::format(
            "must be unique axes of {} that leave an axis besides the batch",
            x.to_string()));
  }
  return r;
}

// `kind` is "Average" or "Max".
Steps pooling_steps(const Reduction& r, const Operands& operands,
                    const char* kind) {
  const Shape& x = operands[0];
  const int rank = x.rank();
  using Axes = std::vector<int64_t>;
  const bool image = rank == 4;
  const bool last = r.gone == (image ? Axes{1, 2} : Axes{1});
  const bool first =
      operands.channels_first && r.gone == (image ? Axes{2, 3} : Axes{2});
  if ((rank == 3 || image) && (last || first)) {
    return {{"", fmt::format("Global{}Pooling{}D", kind, rank - 2),
             Config()
                 .set("data_format", last ? "channels_last" : "channels_first")
                 .set("keepdims", r.keepdims)}};
  }
  Steps steps;
  Axes order = r.gone;
  order.insert(order.end(), r.kept.begin(), r.kept.end());
  if (!std::ranges::is_sorted(order)) {
    steps.push_back(permute("/permute", order));
  }
  Axes sample;
  int64_t columns = 1;
  for (const int64_t axis : r.kept) {
    columns *= x[static_cast<int>(axis)];
  }
  for (int axis = 1; axis < rank; ++axis) {
    const bool gone = std::ranges::find(r.gone, axis) != r.gone.end();
    if (!gone || r.keepdims) sample.push_back(gone ? 1 : x[axis]);
  }
  steps.push_back(reshape("/rows", {r.count, columns}));
  steps.push_back({"", fmt::format("Global{}Pooling1D", kind),
                   Config().set("data_format", "channels_last")});
  steps.push_back(reshape("/reshape", sample));
  return steps;
}

LayerSpec scaling_step(std::string suffix, double scale) {
  return {std::move(suffix), "Rescaling",
          Config().set("scale", scale).set("offset", 0.0)};
}

Steps max_steps(const Settings& settings, const Operands& x) {
  return pooling_steps(reduction_of(settings, x[0]), x, "Max");
}

Steps mean_steps(const Settings& settings, const Operands& x) {
  return pooling_steps(reduction_of(settings, x[0]), x, "Average");
}

// -max(-x).
Steps min_steps(const Settings& settings, const Operands& x) {
  Steps steps = max_steps(settings, x);
  steps.insert(steps.begin(), scaling_step("/negative", -1));
  steps.push_back(scaling_step("/back", -1));
  return steps;
}

// The mean times the number of values.
Steps sum_steps(const Settings& settings, const Operands& x) {
  const Reduction r = reduction_of(settings, x[0]);
  Steps steps = pooling_steps(r, x, "Average");
  steps.push_back(scaling_step("/count", static_cast<double>(r.count)));
  return steps;
}

}  // namespace

Form find_reduction(std::string_view name) {
  static constexpr NamedForm kReductions[] = {
      {"Amax", max_steps},
      {"Amin", min_steps},
      {"Max", max_steps},
      {"Mean", mean_steps},
      {"Min", min_steps},
      {"Sum", sum_steps},
      {"math.reduce_max", max_steps},
      {"math.reduce_mean", mean_steps},
      {"math.reduce_min", min_steps},
      {"math.reduce_sum", sum_steps},
  };
  return find_in(kReductions, name);
}

}  // namespace octet::io
