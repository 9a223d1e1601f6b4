// Operations that split, permute, slice or merge axes.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/runtime/error.h>

#include "keras/operation_forms.h"

namespace octet::io {
namespace {

using Axes = std::vector<int64_t>;

Axes sample_of(const Shape& x) {
  return {x.dims().begin() + 1, x.dims().end()};
}

Config list_of(const Axes& values) {
  return Config::List(values.begin(), values.end());
}

Config slice(const Config& start, const Config& stop, const Config& step) {
  return Config().set("start", start).set("stop", stop).set("step", step);
}

Config::List whole(int rank) {
  return Config::List(static_cast<size_t>(rank),
                      slice(Config(), Config(), Config()));
}

LayerSpec part_by(std::string suffix, Config::List index) {
  return {std::move(suffix), "GetItem",
          Config().set("index", std::move(index))};
}

Steps concatenate_steps(const Settings& settings, const Operands&) {
  return {{"", "Concatenate",
           Config().set("axis", settings.find_or_positional({"axis"}))}};
}

// Channels become pixels. Source: tf.nn.depth_to_space.
Steps block_steps(const Settings& settings, const Shape& x, bool to_space) {
  const Config format = settings.find({"data_format"});
  const Config given = settings.find_or_positional({"block_size"});
  const int64_t b = given.is_number() ? given.as_int() : 0;
  const bool fits =
      b >= 1 && b <= INT16_MAX && x.rank() == 4 &&
      (to_space ? x[3] % (b * b) == 0 : x[1] % b == 0 && x[2] % b == 0);
  if (!fits || (!format.is_null() && format != Config("NHWC"))) {
    throw UnsupportedError(
        "unsupported_attribute", "block_size",
        fmt::format("must fit images [n,h,w,c], got {} for {}", b,
                    x.to_string()));
  }
  const Axes taken_apart = to_space ? Axes{x[1], x[2], b, b, x[3] / (b * b)}
                                    : Axes{x[1] / b, b, x[2] / b, b, x[3]};
  const Axes put_together = to_space ? Axes{x[1] * b, x[2] * b, x[3] / (b * b)}
                                     : Axes{x[1] / b, x[2] / b, x[3] * b * b};
  return {reshape("/blocks", taken_apart), permute("", {1, 3, 2, 4, 5}),
          reshape("/reshape", put_together)};
}

Steps depth_to_space_steps(const Settings& settings, const Operands& x) {
  return block_steps(settings, x[0], true);
}

Steps expand_dims_steps(const Settings& settings, const Operands& x) {
  const int64_t axis =
      axis_of(settings.find_or_positional({"axis"}), x[0].rank() + 1);
  Axes sample = sample_of(x[0]);
  sample.insert(sample.begin() + axis - 1, 1);
  return {reshape("", sample)};
}

Steps flip_steps(const Settings& settings, const Operands& x) {
  const int rank = x[0].rank();
  const Axes axes = integers_of(settings.find_or_positional({"axis"}));
  if (axes.empty()) {
    throw UnsupportedError("unsupported_attribute", "axis",
                           "must not be empty");
  }
  Config::List index = whole(rank);
  for (const int64_t axis : axes) {
    index[static_cast<size_t>(axis_of(axis, rank))] =
        slice(Config(), Config(), -1);
  }
  return {part_by("", std::move(index))};
}

Steps get_item_steps(const Settings& settings, const Operands&) {
  Config index = settings.find_or_positional({"slice_spec", "key"});
  if (index.is_list() &&
      std::ranges::any_of(index.as_list(), &Config::is_null)) {
    throw UnsupportedError("unsupported_attribute", "index",
                           "must not add axes (None). Hint: use expand_dims");
  }
  return {{"", "GetItem", Config().set("index", std::move(index))}};
}

/// Moves axis `from` to position `to`; the others keep their order.
Steps moved_axis(int64_t from, int64_t to, int rank) {
  Axes dims;
  for (int axis = 1; axis < rank; ++axis) {
    if (axis != from) dims.push_back(axis);
  }
  dims.insert(dims.begin() + to - 1, from);
  return {permute("", dims)};
}

Steps move_axis_steps(const Settings& settings, const Operands& x) {
  const Axes from = integers_of(settings.find({"source"}));
  const Axes to = integers_of(settings.find({"destination"}));
  if (from.size() != 1 || to.size() != 1) {
    throw UnsupportedError("unsupported_attribute", "source, destination",
                           "must have one axis each");
  }
  const int rank = x[0].rank();
  return moved_axis(axis_of(from[0], rank), axis_of(to[0], rank), rank);
}

Steps pad_steps(const Settings& settings, const Operands& shapes) {
  const Shape& x = shapes[0];
  const Config mode = settings.find({"mode"});
  const Config value = settings.find({"constant_values"});
  const Config widths = settings.find_or_positional({"pad_width", "paddings"});
  const bool zeros =
      value.is_null() || value == Config(0) || value == Config(0.0);
  const bool constant = mode.is_null() || mode == Config("constant") ||
                        mode == Config("CONSTANT");
  const int rank = x.rank();
  bool pixels = widths.is_list() && (rank == 3 || rank == 4) &&
                std::ssize(widths.as_list()) == rank;
  for (int axis = 0; pixels && axis < rank; axis += rank - 1) {
    const Config& width = widths.as_list()[static_cast<size_t>(axis)];
    pixels = std::ranges::all_of(integers_of(width),
                                 [](int64_t each) { return each == 0; });
  }
  if (!zeros || !constant || !pixels) {
    throw UnsupportedError("unsupported_attribute", "pad_width",
                           fmt::format("must pad the pixels of an image or the "
                                       "steps of a sequence with zeros, for {}",
                                       x.to_string()));
  }
  const Config::List& all = widths.as_list();
  const Config inner =
      rank == 3 ? all[1] : Config(Config::List{all[1], all[2]});
  return {{"", fmt::format("ZeroPadding{}D", rank - 2),
           Config().set("padding", inner).set("data_format", "channels_last")}};
}

Steps reshape_steps(const Settings& settings, const Operands& shapes) {
  const Shape& x = shapes[0];
  const Config given = settings.find_or_positional({"newshape", "shape"});
  Axes sizes;
  if (given.is_list()) {
    for (const Config& size : given.as_list()) {
      sizes.push_back(size.is_null() ? -1 : size.as_int());
    }
  }
  // The batch must be the only unknown size.
  const bool batch = !sizes.empty() && sizes[0] == -1;
  const int64_t sample = x.slice(1, x.rank()).size();
  int64_t product = 1;
  for (size_t i = 1; batch && i < sizes.size(); ++i) {
    if (__builtin_mul_overflow(product, sizes[i], &product)) product = 0;
  }
  if (!batch || product != sample) {
    throw UnsupportedError(
        "unsupported_attribute", "newshape",
        fmt::format("must be -1 for the batch and the sizes of a sample of {}",
                    x.to_string()));
  }
  return {reshape("", {sizes.begin() + 1, sizes.end()})};
}

Steps space_to_depth_steps(const Settings& settings, const Operands& x) {
  return block_steps(settings, x[0], false);
}

Steps squeeze_steps(const Settings& settings, const Operands& x) {
  const Config given = settings.find_or_positional({"axis"});
  const int rank = x[0].rank();
  Axes gone;
  if (given.is_list() && given.as_list().empty()) {
    throw UnsupportedError("unsupported_attribute", "axis",
                           "must be None or not empty");
  }
  if (given.is_null()) {
    for (int axis = 1; axis < rank; ++axis) {
      if (x[0][axis] == 1) gone.push_back(axis);
    }
  } else {
    for (const int64_t axis : integers_of(given)) {
      gone.push_back(axis_of(axis, rank));
    }
  }
  Axes sample;
  for (int axis = 1; axis < rank; ++axis) {
    const bool goes = std::ranges::find(gone, axis) != gone.end();
    if (goes && x[0][axis] != 1) {
      throw UnsupportedError("unsupported_attribute", "axis",
                             fmt::format("axes must have size 1, got {} of {}",
                                         axis, x[0].to_string()));
    }
    if (!goes) sample.push_back(x[0][axis]);
  }
  if (sample.empty()) {
    throw UnsupportedError("unsupported_attribute", "axis",
                           "must leave an axis besides the batch");
  }
  return {reshape("", sample)};
}

Steps stack_steps(const Settings& settings, const Operands& x) {
  const int rank = x[0].rank() + 1;
  const int64_t axis = axis_of(settings.find({"axis"}), rank);
  Axes sample = sample_of(x[0]);
  if (sample.empty()) {
    throw UnsupportedError("unsupported_attribute", "inputs",
                           "must have an axis besides the batch");
  }
  sample.insert(sample.begin(), std::ssize(x));
  Steps steps{{"/concat", "Concatenate", Config().set("axis", 1)},
              reshape("", sample)};
  if (axis != 1) {
    steps.push_back(moved_axis(1, axis, rank)[0]);
    steps.back().suffix = "/permute";
  }
  return steps;
}

Steps swap_axes_steps(const Settings& settings, const Operands& x) {
  const int rank = x[0].rank();
  const int64_t a = axis_of(settings.find({"axis1"}), rank);
  const int64_t b = axis_of(settings.find({"axis2"}), rank);
  Axes dims;
  for (int axis = 1; axis < rank; ++axis) {
    dims.push_back(axis == a ? b : axis == b ? a : axis);
  }
  return {permute("", dims)};
}

Steps transpose_steps(const Settings& settings, const Operands& x) {
  const Config given = settings.find_or_positional({"axes", "perm"});
  const Axes axes = given.is_null() ? Axes{} : integers_of(given);
  if (std::ssize(axes) != x[0].rank() || axes[0] != 0) {
    throw UnsupportedError(
        "unsupported_attribute", "axes",
        fmt::format("must be all axes of {}, the batch first",
                    x[0].to_string()));
  }
  Axes dims;
  for (size_t i = 1; i < axes.size(); ++i) {
    dims.push_back(axis_of(axes[i], x[0].rank()));
  }
  return {permute("", dims)};
}

/// Returns the start of each part of Split, and the end.
Axes borders(const Config& given, int64_t size) {
  Axes ends{0};
  if (given.is_list()) {
    for (const int64_t end : integers_of(given)) ends.push_back(end);
    ends.push_back(size);
    return ends;
  }
  const int64_t count = given.as_int();
  if (count < 1 || size % count != 0) {
    throw UnsupportedError(
        "unsupported_attribute", "sections",
        fmt::format("parts must have equal size, got {} parts of {}", count,
                    size));
  }
  for (int64_t i = 1; i <= count; ++i) ends.push_back(i * (size / count));
  return ends;
}

/// Returns the sections or sizes of a Split, or null.
Config split_by(std::string_view name, const Settings& settings) {
  if (name == "Split") return settings.find({"indices_or_sections"});
  if (name == "split") {
    return settings.find_or_positional({"num_or_size_splits"});
  }
  return {};
}

}  // namespace

LayerSpec reshape(std::string suffix, const std::vector<int64_t>& sample) {
  return {std::move(suffix), "Reshape",
          Config().set("target_shape", list_of(sample))};
}

LayerSpec permute(std::string suffix, const std::vector<int64_t>& dims) {
  return {std::move(suffix), "Permute", Config().set("dims", list_of(dims))};
}

Form find_axis_form(std::string_view name) {
  static constexpr NamedForm kForms[] = {
      {"Concatenate", concatenate_steps},
      {"ExpandDims", expand_dims_steps},
      {"Flip", flip_steps},
      {"GetItem", get_item_steps},
      {"Moveaxis", move_axis_steps},
      {"Pad", pad_steps},
      {"Reshape", reshape_steps},
      {"Squeeze", squeeze_steps},
      {"Stack", stack_steps},
      {"Swapaxes", swap_axes_steps},
      {"Transpose", transpose_steps},
      {"__operators__.getitem", get_item_steps},
      {"concat", concatenate_steps},
      {"expand_dims", expand_dims_steps},
      {"nn.depth_to_space", depth_to_space_steps},
      {"nn.space_to_depth", space_to_depth_steps},
      {"pad", pad_steps},
      {"reshape", reshape_steps},
      {"reverse", flip_steps},
      {"squeeze", squeeze_steps},
      {"stack", stack_steps},
      {"transpose", transpose_steps},
  };
  return find_in(kForms, name);
}

bool has_parts(std::string_view name) {
  return name == "Split" || name == "split";
}

int64_t outputs_of(std::string_view name, const Settings& settings) {
  const Config by = split_by(name, settings);
  if (by.is_list()) {
    return std::ssize(by.as_list()) + (name == "Split" ? 1 : 0);
  }
  return by.is_number() ? by.as_int() : 1;
}

std::vector<Steps> parts_of(std::string_view name, const Settings& settings,
                            const Shape& x) {
  const Config by = split_by(name, settings);
  const int64_t axis = axis_of(settings.find({"axis"}), x.rank());
  const int64_t size = x[static_cast<int>(axis)];
  Axes ends = borders(by, size);
  // Lists are indices in Keras, sizes in TensorFlow.
  if (name == "split" && by.is_list()) {
    ends.pop_back();
    for (size_t i = 1; i < ends.size(); ++i) {
      ends[i] = std::clamp<int64_t>(ends[i], 0, size) + ends[i - 1];
    }
  }
  if (ends.back() != size || !std::ranges::is_sorted(ends) ||
      std::ranges::adjacent_find(ends) != ends.end()) {
    throw UnsupportedError(
        "unsupported_attribute", "sections",
        fmt::format("parts must cover axis {} of {} in order, got ends [{}]",
                    axis, x.to_string(),
                    fmt::join(ends.begin() + 1, ends.end(), ",")));
  }
  std::vector<Steps> parts;
  for (size_t i = 0; i + 1 < ends.size(); ++i) {
    Config::List index = whole(x.rank());
    index[static_cast<size_t>(axis)] = slice(ends[i], ends[i + 1], Config());
    parts.push_back(
        {part_by(i == 0 ? "" : fmt::format("/{}", i), std::move(index))});
  }
  return parts;
}

}  // namespace octet::io
