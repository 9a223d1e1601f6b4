# octet_module(NAME [SOURCES ...] [USES module...] [LINKS target...]
#              [PRECOMPILE header...])
# Adds the OBJECT library `octet_NAME`, with the headers of the module and of
# the modules in USES. LINKS are private third-party targets.
function(octet_module name)
  cmake_parse_arguments(MODULE "" "" "SOURCES;USES;LINKS;PRECOMPILE"
    ${ARGN})
  set(target octet_${name})
  add_library(${target} OBJECT ${MODULE_SOURCES})
  target_include_directories(${target}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/${name}/include>)
  foreach(used IN LISTS MODULE_USES)
    target_include_directories(${target}
      PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/${used}/include>)
  endforeach()
  octet_compile_options(${target})
  octet_private_links(${target} ${MODULE_LINKS} ${OCTET_FMT})
  octet_compile_together(${target} 8
    <algorithm> <array> <functional> <map> <memory> <optional> <span> <string>
    <string_view> <utility> <vector> <fmt/format.h> ${MODULE_PRECOMPILE})
endfunction()

# octet_part(MODULE NAME SOURCE [LINKS target...]): adds the OBJECT library
# `octet_NAME` with a source of a module that only some libraries contain.
# Called after octet_module().
function(octet_part module name source)
  set(target octet_${name})
  add_library(${target} OBJECT EXCLUDE_FROM_ALL ${source})
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}
    $<TARGET_PROPERTY:octet_${module},INCLUDE_DIRECTORIES>)
  octet_compile_options(${target})
  octet_private_links(${target} ${ARGN} ${OCTET_FMT})
endfunction()

# octet_compile_together(TARGET BATCH headers...): compiles up to BATCH sources of
# the target in one go, with the headers precompiled. Both save compile time.
# Names in unnamed namespaces must therefore be unique within a target.
function(octet_compile_together target batch)
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${OCTET_UNITY_BUILD} UNITY_BUILD_BATCH_SIZE ${batch})
  target_precompile_headers(${target} PRIVATE ${ARGN})
  # Lets ccache store objects that depend on precompiled headers.
  target_compile_options(${target} PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endfunction()

# Adds include paths and definitions of third parties; octet::octet links them.
function(octet_private_links target)
  foreach(link IN LISTS ARGN)
    target_include_directories(${target} SYSTEM PRIVATE
      $<TARGET_PROPERTY:${link},INTERFACE_INCLUDE_DIRECTORIES>)
    target_compile_definitions(${target} PRIVATE
      $<TARGET_PROPERTY:${link},INTERFACE_COMPILE_DEFINITIONS>)
  endforeach()
endfunction()

# Sets language level, warnings, hardening and sanitizers for all our targets.
function(octet_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  # Contraction would make results depend on the instruction set; only kernels
  # enable it.
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -ffp-contract=off)
  if(OCTET_WARNINGS_ARE_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(OCTET_SANITIZE)
    target_compile_options(${target} PRIVATE
      -fsanitize=${OCTET_SANITIZE} -fno-omit-frame-pointer
      -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${OCTET_SANITIZE})
  else()
    octet_harden(${target})
  endif()
endfunction()

# Hardening: a parser bug aborts the program instead of executing code from an
# untrusted file. Fortification needs optimization.
function(octet_harden target)
  target_compile_options(${target} PRIVATE
    -fstack-protector-strong
    $<$<NOT:$<CONFIG:Debug,>>:-U_FORTIFY_SOURCE$<SEMICOLON>-D_FORTIFY_SOURCE=2>)
  target_link_options(${target} PRIVATE
    $<$<STREQUAL:$<TARGET_PROPERTY:${target},TYPE>,EXECUTABLE>:-Wl,-z,relro,-z,now>)
endfunction()

# octet_assemble(TARGET MODULES module... [PARTS part...] [LINKS target...]):
# combines the objects of modules and parts in a library. LINKS are private.
function(octet_assemble target)
  cmake_parse_arguments(LIBRARY "" "" "MODULES;PARTS;LINKS" ${ARGN})
  foreach(objects IN LISTS LIBRARY_MODULES LIBRARY_PARTS)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:octet_${objects}>)
  endforeach()
  foreach(module IN LISTS LIBRARY_MODULES)
    target_include_directories(${target} PUBLIC
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/${module}/include>)
  endforeach()
  target_include_directories(${target} PUBLIC
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  octet_compile_options(${target})
  target_link_libraries(${target} PRIVATE ${LIBRARY_LINKS})
endfunction()
