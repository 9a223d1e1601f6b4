#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include <octet/quant/spec.h>
#include <octet/runtime/error.h>

namespace octet::quant {

QdqSite QdqSite::input(int index) {
  QdqSite site;
  site.index = index;
  return site;
}

QdqSite QdqSite::intermediate(std::string tensor) {
  QdqSite site;
  site.kind = SiteKind::intermediate;
  site.parameter = std::move(tensor);
  return site;
}

QdqSite QdqSite::weight(std::string parameter) {
  QdqSite site;
  site.kind = SiteKind::weight;
  site.parameter = std::move(parameter);
  return site;
}

QdqSite QdqSite::output() {
  QdqSite site;
  site.kind = SiteKind::output;
  return site;
}

std::string to_string(const QdqSite& site) {
  switch (site.kind) {
    case SiteKind::intermediate:
      return "inner " + site.parameter;
    case SiteKind::weight:
      return site.parameter;
    case SiteKind::output:
      return "output";
    case SiteKind::input:
      break;
  }
  return fmt::format("input {}", site.index);
}

int site_order(const QdqSite& site) {
  constexpr int kLast = std::numeric_limits<int>::max();
  switch (site.kind) {
    case SiteKind::input:
      return site.index;
    case SiteKind::intermediate:
      return kLast - 2;
    case SiteKind::weight:
      return kLast - 1;
    case SiteKind::output:
      break;
  }
  return kLast;
}

std::vector<QdqSite> QdqSites::select(const QdqRequest& request,
                                      int count) const {
  std::vector<QdqSite> result;
  if (request.quantize_input) {
    const std::vector<int>& wanted = request.quantization_index;
    const int offered = quantizable_inputs(count);
    for (const int index : wanted) {
      if (index >= 0 && index < offered) continue;
      throw ValueError(
          "out_of_range", "quantization_index",
          fmt::format("must be in [0,{}), got {}", offered, index));
    }
    for (int i = 0; i < offered; ++i) {
      if (wanted.empty() || std::ranges::find(wanted, i) != wanted.end()) {
        result.push_back(QdqSite::input(i));
      }
    }
    if (!intermediate.empty())
      result.push_back(QdqSite::intermediate(intermediate));
  }
  if (request.quantize_weight) {
    for (const std::string& weight : weights) {
      result.push_back(QdqSite::weight(weight));
    }
  }
  if (request.quantize_input && output) result.push_back(QdqSite::output());
  return result;
}

}  // namespace octet::quant
