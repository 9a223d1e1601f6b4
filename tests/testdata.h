// Test data that is too large for the repository.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace octet {

/// Returns the path of `name` in OCTET_TESTDATA (default: ../shared/testdata
/// beside the repository).
inline std::filesystem::path testdata(const std::string& name = "") {
  const char* folder = std::getenv("OCTET_TESTDATA");
  return (folder != nullptr ? std::filesystem::path(folder)
                            : std::filesystem::path(OCTET_SOURCE_DIR) /
                                  "../shared/testdata") /
         name;
}

}  // namespace octet
