# Run by `cmake --install` before copying: reports targets that are not built.
# LIBRARY is the library file, PROGRAM the octet executable or empty, BUILD the
# build folder.
if(NOT EXISTS "${LIBRARY}")
  message(FATAL_ERROR
    "octet: the library is not built. Build it first:\n"
    "  cmake --build ${BUILD} --target octet octet_cli\n")
endif()
if(PROGRAM AND NOT EXISTS "${PROGRAM}")
  message(WARNING
    "octet: installing only the library, as the octet program is not built:\n"
    "  cmake --build ${BUILD} --target octet_cli\n")
endif()
