// Reductions over axes of a sample: global pooling over all pixels, otherwise
// Reduce.
#include <algorithm>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "keras/operation_forms.h"

namespace octet::io {
namespace {

// Returns the axes of a sample, sorted.
std::vector<int64_t> reduced_axes(const Settings& settings, const Shape& x,
                                  bool keepdims) {
  const Config given = settings.find_or_positional({"axis"});
  if (given.is_null()) {
    throw UnsupportedError(
        "unsupported_attribute", "axis",
        fmt::format(
            "must be axes of a sample, got all axes of {} including the batch",
            x.to_string()));
  }
  const Config::List list =
      given.is_list() ? given.as_list() : Config::List{given};
  std::vector<int64_t> axes;
  for (const Config& axis : list) axes.push_back(axis_of(axis, x.rank()));
  std::ranges::sort(axes);
  const bool twice = std::ranges::adjacent_find(axes) != axes.end();
  const bool all = std::ssize(axes) == x.rank() - 1 && !keepdims;
  if (twice || axes.empty() || all) {
    throw UnsupportedError(
        "unsupported_attribute", "axis",
        fmt::format(
            "must be unique axes of {} that leave an axis besides the batch",
            x.to_string()));
  }
  return axes;
}

// `operation` is that of Reduce.
Steps reduction_steps(const Settings& settings, const Operands& operands,
                      std::string_view operation) {
  if (!settings.find({"initial"}).is_null()) {
    throw UnsupportedError("unsupported_attribute", "initial",
                           "is not supported");
  }
  const bool keepdims =
      settings.find({"keepdims", "keep_dims"}) == Config(true);
  const std::vector<int64_t> axes =
      reduced_axes(settings, operands[0], keepdims);
  const int rank = operands[0].rank();
  const bool image = rank == 4;
  using Axes = std::vector<int64_t>;
  const bool last = axes == (image ? Axes{1, 2} : Axes{1});
  const bool first =
      operands.channels_first && axes == (image ? Axes{2, 3} : Axes{2});
  const bool pools = operation == "mean" || operation == "max";
  if (pools && (rank == 3 || image) && (last || first)) {
    const char* kind = operation == "mean" ? "Average" : "Max";
    return {{"", fmt::format("Global{}Pooling{}D", kind, rank - 2),
             Config()
                 .set("data_format", last ? "channels_last" : "channels_first")
                 .set("keepdims", keepdims)}};
  }
  return {{"", "Reduce",
           Config()
               .set("operation", std::string(operation))
               .set("axes", Config::List(axes.begin(), axes.end()))
               .set("keepdims", keepdims)}};
}

template <const char* kOperation>
Steps steps_of_reduction(const Settings& settings, const Operands& x) {
  return reduction_steps(settings, x, kOperation);
}

constexpr char kMax[] = "max", kMean[] = "mean", kMin[] = "min",
               kProd[] = "prod", kSum[] = "sum";

}  // namespace

Form find_reduction(std::string_view name) {
  static constexpr NamedForm kReductions[] = {
      {"Amax", steps_of_reduction<kMax>},
      {"Amin", steps_of_reduction<kMin>},
      {"Max", steps_of_reduction<kMax>},
      {"Mean", steps_of_reduction<kMean>},
      {"Min", steps_of_reduction<kMin>},
      {"Prod", steps_of_reduction<kProd>},
      {"Sum", steps_of_reduction<kSum>},
      {"math.reduce_max", steps_of_reduction<kMax>},
      {"math.reduce_mean", steps_of_reduction<kMean>},
      {"math.reduce_min", steps_of_reduction<kMin>},
      {"math.reduce_prod", steps_of_reduction<kProd>},
      {"math.reduce_sum", steps_of_reduction<kSum>},
  };
  return find_in(kReductions, name);
}

}  // namespace octet::io
