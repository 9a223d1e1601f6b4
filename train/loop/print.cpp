#include <ostream>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/detail/text_table.h>
#include <octet/train/fit.h>

namespace octet::train {
namespace {

std::vector<MetricValue> columns_of(const EpochResult& epoch) {
  std::vector<MetricValue> columns{{"loss", epoch.loss}};
  columns.insert(columns.end(), epoch.metrics.begin(), epoch.metrics.end());
  if (!epoch.validation.empty()) {
    const Evaluation& validation = epoch.validation.back();
    columns.push_back({"val_loss", validation.loss});
    for (const MetricValue& metric : validation.metrics) {
      columns.push_back({"val_" + metric.name, metric.value});
    }
  }
  if (epoch.gradient_norm) {
    columns.push_back({"gradient_norm", *epoch.gradient_norm});
  }
  columns.push_back({"learning_rate", epoch.learning_rate});
  return columns;
}

}  // namespace

std::string to_string(const History& history) {
  if (history.empty()) return "no epochs\n";
  std::vector<std::string> names{"epoch"};
  for (const MetricValue& column : columns_of(history.front())) {
    names.push_back(column.name);
  }
  names.emplace_back("seconds");
  TextTable table(std::vector<Align>(names.size(), Align::right));
  table.add_row(names);
  for (size_t i = 0; i < history.size(); ++i) {
    std::vector<std::string> row{std::to_string(i + 1)};
    for (const MetricValue& column : columns_of(history[i])) {
      row.push_back(fmt::format(
          fmt::runtime(column.name == "learning_rate" ? "{:.3g}" : "{:.4f}"),
          column.value));
    }
    row.push_back(fmt::format("{:.1f}", history[i].seconds));
    row.resize(names.size());
    table.add_row(std::move(row));
  }
  return table.to_string();
}

std::ostream& operator<<(std::ostream& out, const History& history) {
  return out << to_string(history);
}

}  // namespace octet::train
