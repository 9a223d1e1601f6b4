#include "keras/einsum_dense.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet::io {
namespace {

bool contains(const std::string& letters, char letter) {
  return letters.find(letter) != letters.npos;
}

[[noreturn]] void refuse_equation(const std::string& equation,
                                  const char* reason) {
  throw UnsupportedError("unsupported_attribute", "equation",
                         fmt::format("{}, got '{}'", reason, equation));
}

struct Equation {
  std::string text, input, kernel, output;
  size_t elided = 0;  ///< axes of "...", with the letters '0', '1', ...

  Equation(const std::string& written, int rank) : text(written) {
    std::string plain = written;
    std::erase(plain, ' ');
    const size_t comma = plain.find(','), arrow = plain.find("->");
    if (comma == plain.npos || arrow == plain.npos || arrow < comma) {
      throw FormatError("invalid_value", "equation",
                        fmt::format("must be 'ab,bc->ac', got '{}'", written));
    }
    input = plain.substr(0, comma);
    kernel = plain.substr(comma + 1, arrow - comma - 1);
    output = plain.substr(arrow + 2);
    const size_t named = input.size() - (contains(input, '.') ? 3 : 0);
    if (contains(input, '.') && std::cmp_greater(rank, named)) {
      elided = static_cast<size_t>(rank) - named;
    }
    for (std::string* letters : {&input, &output}) expand(*letters);
    for (const std::string* letters : {&input, &kernel, &output}) {
      for (const char letter : *letters) {
        if (std::isalnum(static_cast<unsigned char>(letter)) == 0 ||
            std::ranges::count(*letters, letter) > 1) {
          refuse_equation(text, "axes must be letters that are not repeated");
        }
      }
    }
    if (std::cmp_not_equal(input.size(), rank) || output.empty() ||
        output[0] != input[0] || contains(kernel, input[0])) {
      refuse_equation(text, "first axis must be the batch");
    }
  }

  void expand(std::string& letters) const {
    const size_t at = letters.find("...");
    if (at == letters.npos) return;
    std::string axes;
    for (size_t i = 0; i < elided; ++i) axes += static_cast<char>('0' + i);
    letters.replace(at, 3, axes);
  }
};

/// Sizes of the output's letters that the configuration states.
int64_t stated_size(const Config& config, const Equation& e, char letter) {
  const Config& shape = config.at("output_shape");
  const Config::List sizes =
      shape.is_list() ? shape.as_list() : Config::List{shape};
  const size_t at = e.output.find(letter);
  const size_t behind = e.output.size() - at;
  if (behind > sizes.size() || sizes[sizes.size() - behind].is_null()) {
    refuse_equation(e.text, "output_shape must state the kernel's sizes");
  }
  const int64_t size = sizes[sizes.size() - behind].as_int();
  if (size < 1 || size >= int64_t{1} << 24) {
    throw FormatError("out_of_range", "output_shape",
                      fmt::format("must be in [1,2^24), got {}", size));
  }
  return size;
}

/// Bias axes must be those of the units.
Shape bias_shape(const Config& config, const Equation& e,
                 const std::string& units) {
  const Config* axes = config.find("bias_axes");
  if (axes == nullptr || axes->is_null() || axes->as_string().empty()) {
    return {};
  }
  std::string letters = axes->as_string();
  std::string wanted = units;
  std::ranges::sort(letters);
  std::ranges::sort(wanted);
  if (letters != wanted) {
    refuse_equation(e.text, "bias_axes must be the axes of the kernel only");
  }
  std::vector<int64_t> dims;
  for (size_t i = e.output.find_first_of(units); i < e.output.size(); ++i) {
    const bool unit = contains(units, e.output[i]);
    dims.push_back(unit ? stated_size(config, e, e.output[i]) : 1);
  }
  return Shape(std::span<const int64_t>(dims));
}

/// Returns from[i] = the position of to[i] in `from`, for axes from 1 on.
std::vector<int64_t> order_from(const std::string& from,
                                const std::string& to) {
  std::vector<int64_t> order;
  for (const char letter : to) {
    order.push_back(static_cast<int64_t>(from.find(letter)));
  }
  return order;
}

}  // namespace

EinsumPlan einsum_plan(const Config& config, const Shape& input) {
  const Equation e(config.at("equation").as_string(), input.rank());
  EinsumPlan plan;
  std::string kept, contracted, units;
  for (size_t i = 1; i < e.input.size(); ++i) {
    const char letter = e.input[i];
    const bool shared = contains(e.kernel, letter);
    if (shared == contains(e.output, letter)) {
      refuse_equation(e.text,
                      "an axis of the input must be in the kernel or in the "
                      "output, not in both");
    }
    (shared ? contracted : kept) += letter;
    (shared ? plan.contracted : plan.rows)
        .push_back(input[static_cast<int>(i)]);
  }
  for (const char letter : e.output.substr(1)) {
    if (contains(e.input, letter)) continue;
    if (!contains(e.kernel, letter)) {
      refuse_equation(e.text, "output has an axis of no operand");
    }
    units += letter;
    plan.units.push_back(stated_size(config, e, letter));
  }
  if (e.kernel.size() != contracted.size() + units.size()) {
    refuse_equation(e.text, "an axis of the kernel is summed alone");
  }
  const std::string batch(1, e.input[0]);
  plan.order_in = order_from(e.input, kept + contracted);
  plan.order_out = order_from(batch + kept + units, e.output.substr(1));
  std::vector<int64_t> kernel(e.kernel.size());
  const std::string columns = contracted + units;
  for (size_t i = 0; i < columns.size(); ++i) {
    const size_t at = e.kernel.find(columns[i]);
    plan.kernel_order.push_back(static_cast<int>(at));
    kernel[at] = i < contracted.size() ? plan.contracted[i]
                                       : plan.units[i - contracted.size()];
  }
  plan.kernel = Shape(std::span<const int64_t>(kernel));
  plan.bias = bias_shape(config, e, units);
  return plan;
}

}  // namespace octet::io
