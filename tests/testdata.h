// The files that several projects share and that are too large to be kept here.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace octet {

/// In the folder that OCTET_TESTDATA names, else ../shared/testdata beside the
/// repository.
inline std::filesystem::path testdata(const std::string& name = "") {
  const char* folder = std::getenv("OCTET_TESTDATA");
  return (folder != nullptr ? std::filesystem::path(folder)
                            : std::filesystem::path(OCTET_SOURCE_DIR) /
                                  "../shared/testdata") /
         name;
}

}  // namespace octet
