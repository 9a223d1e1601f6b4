#include "keras/operation_forms.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet::io {
namespace {

std::vector<int64_t> integers(const Config& value) {
  if (!value.is_list()) return {value.as_int()};
  std::vector<int64_t> result;
  for (const Config& entry : value.as_list()) {
    result.push_back(entry.is_null() ? -1 : entry.as_int());
  }
  return result;
}

Step unary(const char* operation) {
  return {"", "Unary", Config().set("operation", operation)};
}

/// Axes that a pooling over all pixels takes together.
Step pooled(const Settings& settings, const Shape& x, std::string_view kind) {
  const Config axes = settings.find({"axis"});
  const Config keeps = settings.find({"keepdims", "keep_dims"});
  const int rank = x.rank();
  std::set<int64_t> taken;
  if (!axes.is_null()) {
    for (const int64_t axis : integers(axes)) {
      taken.insert(axis < 0 ? axis + rank : axis);
    }
  }
  const bool last =
      taken == (rank == 4 ? std::set<int64_t>{1, 2} : std::set<int64_t>{1});
  const bool first =
      taken == (rank == 4 ? std::set<int64_t>{2, 3} : std::set<int64_t>{2});
  if ((rank != 3 && rank != 4) || (!last && !first)) {
    throw UnsupportedError(fmt::format(
        "axis: expected the axes of all pixels of an image, or the steps of a "
        "sequence, for a {} over {}",
        kind == "Max" ? "maximum" : "mean", x.to_string()));
  }
  return {"", fmt::format("Global{}Pooling{}D", kind, rank - 2),
          Config()
              .set("data_format", last ? "channels_last" : "channels_first")
              .set("keepdims", keeps == Config(true))};
}

}  // namespace

Config Settings::find(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names) {
    for (const auto& [own, value] : called_) {
      if (own == name && !value.is_null()) return value;
    }
    const Config* value = config_.find(name);
    if (value != nullptr && !value->is_null()) return *value;
  }
  return {};
}

Config Settings::positional() const {
  for (const auto& [name, value] : called_) {
    if (name.empty()) return value;
  }
  return {};
}

Step absolute_step(const Settings&, const Shape&) { return unary("abs"); }
Step erf_step(const Settings&, const Shape&) { return unary("erf"); }
Step log_step(const Settings&, const Shape&) { return unary("log"); }
Step sqrt_step(const Settings&, const Shape&) { return unary("sqrt"); }
Step square_step(const Settings&, const Shape&) { return unary("square"); }

Step clip_step(const Settings& settings, const Shape&) {
  const Config low = settings.find({"x_min"});
  const Config high = settings.find({"x_max"});
  if (!low.is_number() || !high.is_number()) {
    throw UnsupportedError("x_min, x_max: expected two numbers, got others");
  }
  return {"", "ClipByValue", Config().set("min", low).set("max", high)};
}

Step concatenate_step(const Settings& settings, const Shape&) {
  Config axis = settings.find({"axis"});
  if (axis.is_null()) axis = settings.positional();
  return {"", "Concatenate", Config().set("axis", std::move(axis))};
}

Step get_item_step(const Settings& settings, const Shape&) {
  Config index = settings.find({"slice_spec", "key"});
  if (index.is_null()) index = settings.positional();
  return {"", "GetItem", Config().set("index", std::move(index))};
}

Step max_step(const Settings& settings, const Shape& x) {
  return pooled(settings, x, "Max");
}

Step mean_step(const Settings& settings, const Shape& x) {
  return pooled(settings, x, "Average");
}

Step negative_step(const Settings&, const Shape&) {
  return {"", "Rescaling", Config().set("scale", -1.0).set("offset", 0.0)};
}

Step pad_step(const Settings& settings, const Shape& x) {
  const Config mode = settings.find({"mode"});
  const Config value = settings.find({"constant_values"});
  const Config widths = settings.find({"pad_width", "paddings"});
  const bool zeros =
      value.is_null() || value == Config(0) || value == Config(0.0);
  const bool constant = mode.is_null() || mode == Config("constant") ||
                        mode == Config("CONSTANT");
  const int rank = x.rank();
  bool pixels = widths.is_list() && (rank == 3 || rank == 4) &&
                std::ssize(widths.as_list()) == rank;
  for (int axis = 0; pixels && axis < rank; axis += rank - 1) {
    const Config& width = widths.as_list()[static_cast<size_t>(axis)];
    pixels = std::ranges::all_of(integers(width),
                                 [](int64_t each) { return each == 0; });
  }
  if (!zeros || !constant || !pixels) {
    throw UnsupportedError(fmt::format(
        "pad_width: expected zeros around the pixels of an image, or the steps "
        "of a sequence, for {}",
        x.to_string()));
  }
  const Config::List& all = widths.as_list();
  const Config inner =
      rank == 3 ? all[1] : Config(Config::List{all[1], all[2]});
  return {"", fmt::format("ZeroPadding{}D", rank - 2),
          Config().set("padding", inner).set("data_format", "channels_last")};
}

Step reshape_step(const Settings& settings, const Shape& x) {
  Config given = settings.find({"newshape", "shape"});
  if (given.is_null()) given = settings.positional();
  std::vector<int64_t> sizes = integers(given);
  // The batch is the one size that is not known, or it is not the batch.
  const bool batch = !sizes.empty() && sizes[0] == -1;
  const int64_t sample = x.slice(1, x.rank()).size();
  int64_t product = 1;
  for (size_t i = 1; batch && i < sizes.size(); ++i) {
    if (__builtin_mul_overflow(product, sizes[i], &product)) product = 0;
  }
  if (!batch || product != sample) {
    throw UnsupportedError(fmt::format(
        "newshape: expected -1 for the batch and the sizes of a sample of {}",
        x.to_string()));
  }
  Config::List target(sizes.begin() + 1, sizes.end());
  return {"", "Reshape", Config().set("target_shape", std::move(target))};
}

}  // namespace octet::io
