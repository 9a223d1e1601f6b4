#include "accuracy_table.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include <octet/runtime/detail/text_table.h>

namespace octet::program {
namespace {

// Tolerance of the gates, in percent: far below 0.01, the accuracy of a single
// image out of 10,000.
constexpr double kRounding = 1e-6;

std::string text_of(const Accuracy& a) {
  if (a.seeds.empty()) return "-";
  std::string text = fmt::format("{:.2f}", a.mean());
  if (a.seeds.size() > 1) {
    const auto [least, most] = std::ranges::minmax(a.seeds);
    text += fmt::format(" [{:.2f}, {:.2f}]", least, most);
  }
  if (!a.least && !a.most) return text;
  const bool met = a.met();
  const char* sign = a.least ? (met ? ">=" : "<") : (met ? "<=" : ">");
  return fmt::format("{} ({}{} {:.2f})", text, met ? "" : "MISSED, ", sign,
                     a.least ? *a.least : *a.most);
}

}  // namespace

double Accuracy::mean() const {
  return std::accumulate(seeds.begin(), seeds.end(), 0.0) /
         static_cast<double>(seeds.size());
}

bool Accuracy::met() const {
  return (!least || mean() >= *least - kRounding) &&
         (!most || mean() <= *most + kRounding);
}

void AccuracyRow::add_seed(std::span<const std::optional<double>> percent) {
  accuracies.resize(percent.size());
  for (size_t i = 0; i < percent.size(); ++i) {
    if (percent[i]) accuracies[i].seeds.push_back(*percent[i]);
  }
}

std::string AccuracyTable::to_string() const {
  std::vector<std::string> head = {"model"};
  head.insert(head.end(), columns.begin(), columns.end());
  TextTable table(std::vector<Align>(head.size(), Align::left));
  table.add_row(head);
  table.add_rule();
  for (const AccuracyRow& row : rows) {
    std::vector<std::string> cells = {row.name};
    for (const Accuracy& a : row.accuracies) cells.push_back(text_of(a));
    table.add_row(cells);
  }
  return table.to_string();
}

std::vector<std::string> AccuracyTable::missed() const {
  std::vector<std::string> lines;
  for (const AccuracyRow& row : rows) {
    for (size_t i = 0; i < row.accuracies.size(); ++i) {
      const Accuracy& a = row.accuracies[i];
      if (a.seeds.empty() || a.met()) continue;
      lines.push_back(fmt::format(
          "{}, {}: must be at {} {:.2f} %, got {:.2f} %", row.name, columns[i],
          a.least ? "least" : "most", a.least ? *a.least : *a.most, a.mean()));
    }
  }
  return lines;
}

Config AccuracyTable::to_config() const {
  Config::List list;
  for (const AccuracyRow& row : rows) {
    Config variants;
    for (size_t i = 0; i < row.accuracies.size(); ++i) {
      const Accuracy& a = row.accuracies[i];
      if (a.seeds.empty()) continue;
      Config variant;
      variant.set("percent", a.mean())
          .set("seeds", Config::List(a.seeds.begin(), a.seeds.end()));
      if (a.least) variant.set("least", *a.least);
      if (a.most) variant.set("most", *a.most);
      if (a.least || a.most) variant.set("met", a.met());
      variants.set(columns[i], variant);
    }
    list.push_back(Config().set("model", row.name).set("forms", variants));
  }
  return list;
}

}  // namespace octet::program
