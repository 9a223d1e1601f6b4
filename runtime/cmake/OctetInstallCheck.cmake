# Run by `cmake --install` before it copies anything: says what to build first.
# LIBRARY is the file of the library, PROGRAM that of octet or empty, BUILD the
# build folder.
if(NOT EXISTS "${LIBRARY}")
  message(FATAL_ERROR
    "octet: expected a built library to install, got none. Build it first:\n"
    "  cmake --build ${BUILD} --target octet octet_cli\n")
endif()
if(PROGRAM AND NOT EXISTS "${PROGRAM}")
  message(WARNING
    "octet: installs the library alone, as the octet program is not built:\n"
    "  cmake --build ${BUILD} --target octet_cli\n")
endif()
