# Installation and the CMake package for find_package(octet).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Checks that targets are built: CMake's own error names only a file.
set(program "")
if(OCTET_BUILD_EXAMPLES)
  set(program "$<TARGET_FILE:octet_cli>")
endif()
install(CODE "
  set(LIBRARY \"$<TARGET_FILE:octet>\")
  set(PROGRAM \"${program}\")
  set(BUILD \"${PROJECT_BINARY_DIR}\")
  include(\"${CMAKE_CURRENT_LIST_DIR}/OctetInstallCheck.cmake\")")

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/octet)
install(TARGETS octet EXPORT octetTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(module runtime layers quant train io)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${module}/include/
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endforeach()
install(EXPORT octetTargets NAMESPACE octet:: DESTINATION ${package_dir})
# For find_package(octet COMPONENTS mpi); other components need no MPI.
if(TARGET octet_mpi)
  install(TARGETS octet_mpi EXPORT octetMpiTargets
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/train/mpi/include/
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT octetMpiTargets NAMESPACE octet:: DESTINATION ${package_dir})
endif()
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/runtime/cmake/octetConfig.cmake.in
  ${PROJECT_BINARY_DIR}/octetConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/octetConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/octetConfig.cmake
              ${PROJECT_BINARY_DIR}/octetConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/runtime/cmake/Findre2.cmake
              ${PROJECT_SOURCE_DIR}/runtime/cmake/Findlibcsv.cmake
        DESTINATION ${package_dir})
install(FILES ${PROJECT_SOURCE_DIR}/runtime/octet_gdb.py
        DESTINATION ${CMAKE_INSTALL_DATADIR}/octet)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
