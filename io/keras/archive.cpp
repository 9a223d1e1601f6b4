#include "keras/archive.h"

#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "zip.h"

namespace octet::io {

KerasArchive read_archive(std::string_view contents) {
  constexpr std::array<std::string_view, 3> kMembers{
      "config.json", "metadata.json", kArchiveWeights};
  std::map<std::string, std::string> members = read_zip(contents, kMembers);
  const auto take = [&](std::string_view name) {
    const auto found = members.find(std::string(name));
    if (found == members.end()) {
      throw FormatError("malformed_file", "Keras archive",
                        fmt::format("no member '{}'", name));
    }
    return std::move(found->second);
  };
  KerasArchive archive{
      .config = take("config.json"), .metadata = {}, .weights = {}};
  if (members.contains("metadata.json")) {
    archive.metadata = take("metadata.json");
  }
  if (!members.contains(kArchiveWeights)) {
    // Large models may be split into several files, small ones may use NumPy's
    // format.
    constexpr std::array<std::string_view, 2> kOthers{"model.weights.npz",
                                                      "model.weights.json"};
    for (const auto& [name, bytes] : read_zip(contents, kOthers)) {
      throw UnsupportedError("unsupported_format", "Keras archive",
                             fmt::format("weights must be in '{}', got '{}'",
                                         kArchiveWeights, name));
    }
  }
  archive.weights = take(kArchiveWeights);
  return archive;
}

}  // namespace octet::io
