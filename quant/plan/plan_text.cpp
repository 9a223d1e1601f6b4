// Text, differences and serialization of plans.
#include <map>
#include <span>

#include <fmt/format.h>

#include <octet/quant/plan.h>
#include <octet/runtime/detail/text_table.h>
#include <octet/runtime/error.h>

namespace octet::quant {
namespace {

/// Columns: layer, site, configuration, rule, reason.
TextTable plan_table() { return TextTable(std::vector<Align>(5)); }

void add_point(TextTable& table, const QdqPoint& point,
               std::string_view mark = "") {
  table.add_row({point.layer, to_string(point.site), to_string(point.config),
                 point.rule, point.reason},
                mark);
}

SiteKind site_kind(const Config& value) {
  const std::string& text = value.as_string();
  if (text == "input") return SiteKind::input;
  if (text == "inner") return SiteKind::intermediate;
  if (text == "weight") return SiteKind::weight;
  if (text == "output") return SiteKind::output;
  throw ValueError(
      "invalid_value", "plan point",
      fmt::format("site must be input, inner, weight or output, got '{}'",
                  text));
}

std::string_view kind_text(SiteKind kind) {
  switch (kind) {
    case SiteKind::input:
      return "input";
    case SiteKind::intermediate:
      return "inner";
    case SiteKind::weight:
      return "weight";
    case SiteKind::output:
      break;
  }
  return "output";
}

Config to_config(const QdqPoint& point) {
  Config config;
  config.set("layer", point.layer).set("site", kind_text(point.site.kind));
  if (point.site.kind == SiteKind::input) config.set("index", point.site.index);
  if (point.site.kind == SiteKind::intermediate) {
    config.set("tensor", point.site.parameter);
  }
  if (point.site.kind == SiteKind::weight) {
    config.set("parameter", point.site.parameter);
  }
  if (point.config.format != NumberFormat::integer) {
    config.set("format", to_string(point.config.format));
  }
  config.set("bits", point.config.bits)
      .set("narrow_range", point.config.narrow_range)
      .set("per_channel", point.config.per_channel)
      .set("scale", to_string(point.config.rule));
  if (point.config.block > 0) config.set("block", point.config.block);
  if (!point.config.is_signed) config.set("signed", false);
  if (point.config.zero_point != 0) {
    config.set("zero_point", point.config.zero_point);
  }
  if (point.config.asymmetric) config.set("asymmetric", true);
  if (point.config.constant_scale > 0) {
    config.set("constant_scale", point.config.constant_scale);
  }
  if (point.config.rule == ScaleRule::ema) {
    config.set("ema_rate", point.config.ema_rate);
  }
  if (point.config.follows()) {
    config.set("freeze_step", point.config.freeze_step);
  }
  if (point.config.learns()) {
    config.set("scale_rate", point.config.scale_rate);
  }
  if (point.config.rule == ScaleRule::learned_clip) {
    config.set("clip_decay", point.config.clip_decay);
  }
  if (point.config.straight_through == StraightThrough::pass_through) {
    config.set("pass_through", true);
  }
  return config.set("rule", point.rule)
      .set("reason", point.reason)
      .set("group", point.group);
}

// Reads an entry of a point; errors gain its key as context.
template <class Read>
auto entry(const Config& config, std::string_view key, Read read) {
  const Config& value = config.at(key);
  return with_context([&] { return fmt::format("at '{}'", key); },
                      [&] { return read(value); });
}

std::string text_at(const Config& config, std::string_view key) {
  return entry(config, key, [](const Config& v) { return v.as_string(); });
}

bool flag_at(const Config& config, std::string_view key) {
  return entry(config, key, [](const Config& v) { return v.as_bool(); });
}

int int_at(const Config& config, std::string_view key, int64_t low,
           int64_t high) {
  return entry(config, key, [&](const Config& value) {
    const int64_t number = value.as_int();
    if (number < low || number > high) {
      throw ValueError(
          "out_of_range", "plan point",
          fmt::format("{} must be in [{},{}], got {}", key, low, high, number));
    }
    return static_cast<int>(number);
  });
}

ScaleRule scale_rule(const Config& value) {
  return scale_rule_named(value.as_string());
}

// Reads the keys that to_config() omits if they do not apply.
void read_options(const Config& config, QuantizerConfig& to) {
  if (config.find("signed") != nullptr)
    to.is_signed = flag_at(config, "signed");
  if (config.find("zero_point") != nullptr) {
    const int last = to.is_signed ? 0 : (1 << to.bits) - 1;
    to.zero_point = int_at(config, "zero_point", 0, last);
  }
  if (config.find("asymmetric") != nullptr) {
    to.asymmetric = flag_at(config, "asymmetric");
  }
  const auto read_rate = [&](std::string_view key, float& rate) {
    if (config.find(key) == nullptr) return;
    rate = entry(config, key, [](const Config& value) {
      return static_cast<float>(value.as_number());
    });
  };
  if (config.find("block") != nullptr) {
    to.block = int_at(config, "block", 2, 4096);
  }
  read_rate("ema_rate", to.ema_rate);
  read_rate("scale_rate", to.scale_rate);
  read_rate("clip_decay", to.clip_decay);
  read_rate("constant_scale", to.constant_scale);
  if (config.find("pass_through") != nullptr) {
    to.straight_through = flag_at(config, "pass_through")
                              ? StraightThrough::pass_through
                              : StraightThrough::clipped;
  }
  if (config.find("freeze_step") != nullptr) {
    to.freeze_step = entry(config, "freeze_step",
                           [](const Config& value) { return value.as_int(); });
  }
}

QdqPoint point_from(const Config& config) {
  QdqPoint point;
  point.layer = text_at(config, "layer");
  point.site.kind = entry(config, "site", site_kind);
  if (point.site.kind == SiteKind::input) {
    point.site.index = int_at(config, "index", 0, 1 << 20);
  }
  if (point.site.kind == SiteKind::intermediate) {
    point.site.parameter = text_at(config, "tensor");
  }
  if (point.site.kind == SiteKind::weight) {
    point.site.parameter = text_at(config, "parameter");
  }
  if (config.find("format") != nullptr) {
    point.config.format = entry(config, "format", [](const Config& value) {
      return number_format_named(value.as_string());
    });
  }
  point.config.bits = int_at(config, "bits", 2, 16);
  if (point.config.bits > 8 && point.config.bits < 16) {
    throw ValueError(
        "out_of_range", "plan point",
        fmt::format("bits must be in [2,8] or 16, got {}", point.config.bits));
  }
  point.config.narrow_range = flag_at(config, "narrow_range");
  point.config.per_channel = flag_at(config, "per_channel");
  point.config.rule = entry(config, "scale", scale_rule);
  read_options(config, point.config);
  point.rule = text_at(config, "rule");
  point.reason = text_at(config, "reason");
  point.group = text_at(config, "group");
  const Config written = to_config(point);
  for (const auto& [key, value] : config.as_object()) {
    if (written.find(key) == nullptr) {
      throw ValueError("unknown_option", "plan point",
                       fmt::format("unknown key '{}' for site {}", key,
                                   kind_text(point.site.kind)));
    }
  }
  return point;
}

// Index of a plan's points by layer.
class PointIndex {
 public:
  explicit PointIndex(const QdqPlan& plan) {
    for (const QdqPoint& point : plan.points) {
      by_layer_[point.layer].push_back(&point);
    }
  }
  std::span<const QdqPoint* const> at_layer(std::string_view layer) const {
    const auto found = by_layer_.find(layer);
    if (found == by_layer_.end()) return {};
    return found->second;
  }
  /// Returns the first equal point, or null.
  const QdqPoint* find(const QdqPoint& point) const {
    for (const QdqPoint* each : at_layer(point.layer)) {
      if (*each == point) return each;
    }
    return nullptr;
  }

 private:
  std::map<std::string_view, std::vector<const QdqPoint*>> by_layer_;
};

}  // namespace

std::string QdqPlan::to_string() const {
  TextTable table = plan_table();
  for (const QdqPoint& point : points) add_point(table, point);
  return table.to_string();
}

std::string PairCount::to_string() const {
  return fmt::format(
      "pairs: {} activations + {} weights = {} per edge, {} shared",
      activations, weights, per_edge(), shared);
}

std::string diff(const QdqPlan& from, const QdqPlan& to) {
  // Points keep their order, so a merge suffices: points of a single plan
  // precede the next common point.
  TextTable table = plan_table();
  const PointIndex old_points(from);
  const PointIndex new_points(to);
  // Names the quantizer if only the group differs.
  const auto point_beside = [&](QdqPoint point, const PointIndex& other) {
    const std::string group = point.group;
    for (const QdqPoint* same : other.at_layer(point.layer)) {
      point.group = same->group;
      if (point == *same) {
        point.reason += fmt::format(" (quantizer '{}')", group);
        break;
      }
    }
    return point;
  };
  size_t next = 0;
  const auto add_new = [&](size_t end) {
    for (; next < end; ++next) {
      if (old_points.find(to.points[next]) == nullptr) {
        add_point(table, point_beside(to.points[next], old_points), "+ ");
      }
    }
  };
  for (const QdqPoint& point : from.points) {
    const QdqPoint* at = new_points.find(point);
    if (at == nullptr) {
      add_point(table, point_beside(point, new_points), "- ");
    } else {
      const auto end = static_cast<size_t>(at - to.points.data());
      if (end >= next) add_new(end + 1);
    }
  }
  add_new(to.points.size());
  return table.to_string();
}

Config to_config(const QdqPlan& plan) {
  Config::List points;
  for (const QdqPoint& point : plan.points) points.push_back(to_config(point));
  return Config().set("plan", std::move(points));
}

QdqPlan plan_from_config(const Config& config) {
  QdqPlan plan;
  const Config::List& points = config.at("plan").as_list();
  for (size_t i = 0; i < points.size(); ++i) {
    plan.points.push_back(
        with_context([&] { return fmt::format("in point {} of the plan", i); },
                     [&] { return point_from(points[i]); }));
  }
  return plan;
}

}  // namespace octet::quant
