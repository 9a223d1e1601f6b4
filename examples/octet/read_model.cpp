#include "read_model.h"

#include <string_view>

#include <fmt/format.h>

#include <octet/layers/zoo.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

namespace octet::program {
namespace {

constexpr std::string_view kZoo = "zoo:";

}  // namespace

bool is_model(const std::string& what) { return what.starts_with(kZoo); }

Model read_model(const std::string& what) {
  if (what.starts_with(kZoo)) {
    return zoo::make(std::string_view(what).substr(kZoo.size()));
  }
  // One that is missing or cannot be read has a reason of its own.
  (void)read_file(what);
  throw UnsupportedError(
      fmt::format("'{}': expected zoo:NAME, got a file, whose kind Octet does "
                  "not read into a model yet",
                  what));
}

}  // namespace octet::program
