#include "placement/precedence.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet::quant {
namespace {

// Returns the toolkit's order. The toolkit merges all entries into one table of
// names, in which later entries replace earlier ones and cases come last, and
// one set of classes without options.
// Source: tensorflow-quantization 0.2.0, quantize.py and quantize_config.py.
std::vector<SourcedSpec> as_in_toolkit(const std::vector<SourcedSpec>& specs) {
  std::vector<SourcedSpec> names;
  std::vector<SourcedSpec> classes;
  for (const SourcedSpec& each : specs) {
    SourcedSpec named{each.source, {}};
    SourcedSpec classed{each.source, {}};
    for (const SpecEntry& entry : each.spec.entries()) {
      if (entry.target == SpecTarget::class_) {
        classed.spec.add(entry.name, {.is_keras_class = true});
      } else {
        named.spec.add(
            entry.name,
            {.is_regex = entry.target == SpecTarget::pattern,
             .quantize_input = entry.request.quantize_input,
             .quantize_weight = entry.request.quantize_weight,
             .quantization_index = entry.request.quantization_index});
      }
    }
    names.push_back(std::move(named));
    classes.push_back(std::move(classed));
  }
  // In Octet's order the user's spec is first.
  std::ranges::rotate(names, names.begin() + 1);
  names.insert(names.end(), classes.begin(), classes.end());
  return names;
}

}  // namespace

std::vector<SourcedSpec> by_precedence(const Model& model,
                                       const QuantizeOptions& options) {
  std::vector<SourcedSpec> specs{{{.rule = "user"}, options.spec}};
  for (auto c = options.cases.rbegin(); c != options.cases.rend(); ++c) {
    SpecSource source{.rule = fmt::format("case {}", (*c)->name()),
                      .reason = (*c)->info()};
    QuantizationSpec spec =
        with_context([&] { return fmt::format("in {}", source.rule); },
                     [&] { return (*c)->case_(model, options.spec); });
    specs.push_back({std::move(source), std::move(spec)});
  }
  return options.toolkit.strict ? as_in_toolkit(specs) : specs;
}

}  // namespace octet::quant
