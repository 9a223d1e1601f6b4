# Installation, the CMake package for find_package(octet), pkg-config files, and
# the targets `uninstall` and `package`. Components are the Debian packages:
# command, libraries, development, documentation.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Checks that targets are built: CMake's own error names only a file.
set(main_library octet_session_static)
if(TARGET octet)
  set(main_library octet)
endif()
set(program "")
if(OCTET_BUILD_EXAMPLES AND OCTET_HAS_IO)
  set(program "$<TARGET_FILE:octet_cli>")
endif()
install(CODE "
  set(LIBRARY \"$<TARGET_FILE:${main_library}>\")
  set(PROGRAM \"${program}\")
  set(BUILD \"${PROJECT_BINARY_DIR}\")
  include(\"${CMAKE_CURRENT_LIST_DIR}/OctetInstallCheck.cmake\")"
  COMPONENT development)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/octet)

# octet_install_library(TARGET EXPORT): installs a library that the default build
# need not contain, with its CMake targets.
function(octet_install_library target export)
  install(TARGETS ${target} EXPORT ${export}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL
      COMPONENT libraries NAMELINK_COMPONENT development
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL
      COMPONENT development)
endfunction()

octet_install_library(octet_session_static octetSessionTargets)
octet_install_library(octet_session_shared octetSharedTargets)
set(exports octetSessionTargets octetSharedTargets)
set(modules runtime layers quant session)
if(TARGET octet)
  octet_install_library(octet octetTargets)
  list(APPEND exports octetTargets)
  list(APPEND modules train io)
endif()
if(TARGET octet_mpi)
  octet_install_library(octet_mpi octetMpiTargets)
  list(APPEND exports octetMpiTargets)
  list(APPEND modules train/mpi)
endif()
foreach(module IN LISTS modules)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${module}/include/
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
endforeach()
foreach(export IN LISTS exports)
  install(EXPORT ${export} NAMESPACE octet:: DESTINATION ${package_dir}
    COMPONENT development)
endforeach()

configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/runtime/cmake/octetConfig.cmake.in
  ${PROJECT_BINARY_DIR}/octetConfig.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/octetConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/octetConfig.cmake
              ${PROJECT_BINARY_DIR}/octetConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/runtime/cmake/Findre2.cmake
              ${PROJECT_SOURCE_DIR}/runtime/cmake/Findlibcsv.cmake
        DESTINATION ${package_dir} COMPONENT development)

# octet-session is the C API, octet the C++ library. Their paths are relative, so
# that the prefix may change.
file(RELATIVE_PATH OCTET_PC_PREFIX
  ${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig
  ${CMAKE_INSTALL_PREFIX})
set(OCTET_PC_LIBS "-lfmt -lre2 -lcsv -lz -lonnx -lonnx_proto -lprotobuf")
foreach(pair IN ITEMS TBB:-ltbb PNG:-lpng JPEG:-ljpeg)
  string(REGEX MATCH "^([A-Z]+):(.*)$" pair ${pair})
  if(${CMAKE_MATCH_1}_FOUND)
    string(APPEND OCTET_PC_LIBS " ${CMAKE_MATCH_2}")
  endif()
endforeach()
set(hdf5_libraries ${HDF5_C_LIBRARIES})
list(FILTER hdf5_libraries INCLUDE REGEX "hdf5")  # not those it links
list(JOIN hdf5_libraries " " hdf5_libraries)
string(APPEND OCTET_PC_LIBS " ${hdf5_libraries}")
foreach(name octet-session octet)
  if(name STREQUAL octet AND NOT TARGET octet)
    continue()
  endif()
  configure_file(${PROJECT_SOURCE_DIR}/runtime/cmake/${name}.pc.in
    ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endforeach()

install(FILES ${PROJECT_SOURCE_DIR}/runtime/octet_gdb.py
  DESTINATION ${CMAKE_INSTALL_DATADIR}/octet COMPONENT development)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/CHANGELOG.md
              ${PROJECT_SOURCE_DIR}/README.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT documentation)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs ${PROJECT_SOURCE_DIR}/examples
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT documentation
  PATTERN "*.py" EXCLUDE)
if(program)
  # Manual pages and completion, which the program writes.
  install(CODE "
    set(PROGRAM \"${program}\")
    include(\"${CMAKE_CURRENT_LIST_DIR}/OctetProgramFiles.cmake\")"
    COMPONENT command)
endif()

if(PROJECT_IS_TOP_LEVEL)
  add_custom_target(uninstall
    COMMAND ${CMAKE_COMMAND} -D BUILD=${PROJECT_BINARY_DIR}
      -P ${CMAKE_CURRENT_LIST_DIR}/OctetUninstall.cmake VERBATIM)
  include(OctetPackages)
endif()
