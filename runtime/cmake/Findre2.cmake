# Defines the target re2::re2, from RE2's CMake package (newer versions) or from
# its header and library.
find_package(re2 CONFIG QUIET)
if(NOT TARGET re2::re2)
  find_path(re2_INCLUDE_DIR re2/re2.h)
  find_library(re2_LIBRARY re2)
  mark_as_advanced(re2_INCLUDE_DIR re2_LIBRARY)
  if(re2_INCLUDE_DIR AND re2_LIBRARY)
    add_library(re2::re2 UNKNOWN IMPORTED)
    set_target_properties(re2::re2 PROPERTIES
      IMPORTED_LOCATION ${re2_LIBRARY}
      INTERFACE_INCLUDE_DIRECTORIES ${re2_INCLUDE_DIR})
  endif()
endif()
set(re2_TARGET FALSE)
if(TARGET re2::re2)
  set(re2_TARGET TRUE)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(re2
  REQUIRED_VARS re2_TARGET
  REASON_FAILURE_MESSAGE "Debian package: libre2-dev")
