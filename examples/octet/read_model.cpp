#include "read_model.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include <octet/layers/zoo.h>
#include <octet/runtime/error.h>

namespace octet::program {

Model read_model(const std::string& what) {
  constexpr std::string_view kZoo = "zoo:";
  if (what.starts_with(kZoo)) {
    return zoo::make(std::string_view(what).substr(kZoo.size()));
  }
  if (std::ranges::find(zoo::entries(), what, &zoo::Entry::name) !=
      zoo::entries().end()) {
    throw NotFoundError(
        fmt::format("model: expected a file or zoo:NAME, got '{0}'; did you "
                    "mean 'zoo:{0}'?",
                    what));
  }
  if (!std::filesystem::exists(what)) {
    throw IoError(fmt::format("{}: cannot open: no such file", what));
  }
  throw UnsupportedError(
      fmt::format("model: expected zoo:NAME, got the file '{}', whose kind is "
                  "not read into a model yet",
                  what));
}

}  // namespace octet::program
