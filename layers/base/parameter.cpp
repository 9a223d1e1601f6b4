#include <utility>

#include <fmt/format.h>

#include <octet/layers/detail/load_limits.h>
#include <octet/layers/parameter.h>
#include <octet/runtime/error.h>

namespace octet {
namespace {

thread_local ParameterLimit* parameter_limit = nullptr;
thread_local bool leaves_unfilled = false;

}  // namespace

SkipInit::SkipInit() : before_(std::exchange(leaves_unfilled, true)) {}

SkipInit::~SkipInit() { leaves_unfilled = before_; }

bool SkipInit::wanted() { return leaves_unfilled; }

ParameterLimit::ParameterLimit(int64_t elements)
    : left_(elements), before_(std::exchange(parameter_limit, this)) {}

ParameterLimit::~ParameterLimit() { parameter_limit = before_; }

void ParameterLimit::take(const Shape& shape) {
  for (ParameterLimit* limit = parameter_limit; limit != nullptr;
       limit = limit->before_) {
    const int64_t size = shape.size();
    if (size > limit->left_) {
      throw ValueError(
          "size_limit", "parameters",
          fmt::format(
              "{} exceeds the {} elements left by the size of the file or the "
              "memory limit",
              shape.to_string(), limit->left_));
    }
    limit->left_ -= size;
  }
}

}  // namespace octet
