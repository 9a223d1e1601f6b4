# RE2 as the target re2::re2: by its own package where there is one, as newer
# versions have it, else by its header and library alone.
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
  REASON_FAILURE_MESSAGE "Debian has it in libre2-dev")
