// Plans as text, as differences and as configurations.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <octet/quant/plan.h>
#include <octet/runtime/error.h>

namespace octet::quant {
namespace {

using Row = std::array<std::string, 5>;

Row row_of(const QdqPoint& point) {
  return {point.layer, to_string(point.site), to_string(point.config),
          point.rule, point.reason};
}

// Columns of equal width, each line after its mark.
std::string table(const std::vector<std::pair<std::string, Row>>& rows) {
  std::array<size_t, 5> width{};
  for (const auto& [mark, row] : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      width[i] = std::max(width[i], row[i].size());
    }
  }
  std::string text;
  for (const auto& [mark, row] : rows) {
    std::string line = fmt::format("{}{:<{}}  {:<{}}  {:<{}}  {:<{}}  {}", mark,
                                   row[0], width[0], row[1], width[1], row[2],
                                   width[2], row[3], width[3], row[4]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

SiteKind site_kind(const std::string& text) {
  if (text == "input") return SiteKind::input;
  if (text == "weight") return SiteKind::weight;
  if (text == "output") return SiteKind::output;
  throw ValueError(
      fmt::format("site: expected input, weight or output, got '{}'", text));
}

std::string_view kind_text(SiteKind kind) {
  switch (kind) {
    case SiteKind::input:
      return "input";
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
  if (point.site.kind == SiteKind::weight) {
    config.set("parameter", point.site.parameter);
  }
  return config.set("bits", point.config.bits)
      .set("narrow_range", point.config.narrow_range)
      .set("per_channel", point.config.per_channel)
      .set("scale", point.config.rule == ScaleRule::live ? "live" : "fixed")
      .set("rule", point.rule)
      .set("reason", point.reason)
      .set("group", point.group);
}

int to_int(const Config& value, std::string_view name, int64_t low,
           int64_t high) {
  const int64_t number = value.as_int();
  if (number < low || number > high) {
    throw ValueError(fmt::format("{}: expected an integer in [{},{}], got {}",
                                 name, low, high, number));
  }
  return static_cast<int>(number);
}

QdqPoint point_from(const Config& config) {
  QdqPoint point;
  point.layer = config.at("layer").as_string();
  point.site.kind = site_kind(config.at("site").as_string());
  if (point.site.kind == SiteKind::input) {
    point.site.index = to_int(config.at("index"), "index", 0, 1 << 20);
  }
  if (point.site.kind == SiteKind::weight) {
    point.site.parameter = config.at("parameter").as_string();
  }
  point.config.bits = to_int(config.at("bits"), "bits", 2, 8);
  point.config.narrow_range = config.at("narrow_range").as_bool();
  point.config.per_channel = config.at("per_channel").as_bool();
  const std::string& scale = config.at("scale").as_string();
  if (scale != "live" && scale != "fixed") {
    throw ValueError(
        fmt::format("scale: expected live or fixed, got '{}'", scale));
  }
  point.config.rule = scale == "live" ? ScaleRule::live : ScaleRule::fixed;
  point.rule = config.at("rule").as_string();
  point.reason = config.at("reason").as_string();
  point.group = config.at("group").as_string();
  return point;
}

}  // namespace

std::string QdqPlan::to_string() const {
  std::vector<std::pair<std::string, Row>> rows;
  for (const QdqPoint& point : points) rows.emplace_back("", row_of(point));
  return table(rows);
}

std::string PairCount::to_string() const {
  return fmt::format(
      "pairs: {} activations + {} weights = {} per edge, {} shared",
      activations, weights, per_edge(), shared);
}

std::string diff(const QdqPlan& from, const QdqPlan& to) {
  // Points keep their order, so one walk over both is enough: what stands in
  // one only goes before the next that stands in both.
  std::vector<std::pair<std::string, Row>> rows;
  const auto has = [](const QdqPlan& plan, const QdqPoint& point) {
    return std::ranges::find(plan.points, point) != plan.points.end();
  };
  size_t next = 0;
  const auto add_new = [&](size_t end) {
    for (; next < end; ++next) {
      if (!has(from, to.points[next])) {
        rows.emplace_back("+ ", row_of(to.points[next]));
      }
    }
  };
  for (const QdqPoint& point : from.points) {
    const auto at = std::ranges::find(to.points, point);
    if (at == to.points.end()) {
      rows.emplace_back("- ", row_of(point));
    } else {
      const auto end = static_cast<size_t>(at - to.points.begin());
      if (end >= next) add_new(end + 1);
    }
  }
  add_new(to.points.size());
  return table(rows);
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
