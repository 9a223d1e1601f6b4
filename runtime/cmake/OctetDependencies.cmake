# Third-party libraries. Sets OCTET_HAS_IO, OCTET_FMT and the variables of
# find_package.

# octet_choice(NAME help): declares the option OCTET_WITH_<NAME>: AUTO, ON, OFF.
function(octet_choice name help)
  set(option OCTET_WITH_${name})
  set(${option} AUTO CACHE STRING "${help}: AUTO, ON or OFF")
  set_property(CACHE ${option} PROPERTY STRINGS AUTO ON OFF)
  if(NOT ${option} MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR
      "${option}: expected AUTO, ON or OFF, got '${${option}}'")
  endif()
endfunction()

# octet_find(NAME package hint ...): find_package(package ...) by the option
# OCTET_WITH_<NAME>. A macro: packages set variables.
macro(octet_find name package hint)
  if(NOT OCTET_WITH_${name} STREQUAL OFF)
    find_package(${package} ${ARGN})
    if(OCTET_WITH_${name} STREQUAL ON AND NOT ${package}_FOUND)
      message(FATAL_ERROR
        "OCTET_WITH_${name}: expected ${package}, got none. Hint: apt-get "
        "install ${hint}")
    endif()
  endif()
endmacro()

octet_choice(ONNX "ONNX files, and all of Octet but octet::session")
octet_choice(HDF5 "Keras files and checkpoints; needed by octet::octet")
octet_choice(IMAGES "PNG and JPEG images")
octet_choice(MPI "octet::mpi, for training on several machines")
octet_choice(TFLITE ".tflite files, with FlatBuffers")
octet_choice(TBB "Threads of TBB instead of Octet's")

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
set(OCTET_FMT fmt::fmt)
if(OCTET_FMT_HEADER_ONLY)
  set(OCTET_FMT fmt::fmt-header-only)
endif()
if(NOT OCTET_MAX_ISA MATCHES "^(baseline|avx2|avx512)$")
  message(FATAL_ERROR
    "OCTET_MAX_ISA: expected baseline, avx2 or avx512, got '${OCTET_MAX_ISA}'")
endif()

# Libraries of a file format are required unless they are switched off.
set(OCTET_HAS_IO TRUE)
if(OCTET_WITH_ONNX STREQUAL OFF OR OCTET_WITH_HDF5 STREQUAL OFF)
  set(OCTET_HAS_IO FALSE)
endif()
if(OCTET_HAS_IO)
  octet_find(TBB TBB libtbb-dev)
  find_package(nlohmann_json REQUIRED)
  find_package(re2 REQUIRED)
  find_package(libcsv REQUIRED)
  find_package(ZLIB REQUIRED)
  find_package(Protobuf REQUIRED)  # before ONNX, whose targets refer to it
  find_package(ONNX 1.12 REQUIRED)
  find_package(HDF5 REQUIRED COMPONENTS C)
  octet_find(IMAGES PNG libpng-dev)
  octet_find(IMAGES JPEG libjpeg-dev)
  octet_find(MPI MPI "libopenmpi-dev openmpi-bin" COMPONENTS C)
  if(NOT OCTET_WITH_TFLITE STREQUAL OFF)
    find_program(OCTET_FLATC flatc)
    find_path(OCTET_FLATBUFFERS_INCLUDE flatbuffers/flatbuffers.h)
    if(OCTET_FLATC AND OCTET_FLATBUFFERS_INCLUDE)
      set(OCTET_TFLITE_FOUND TRUE)
    elseif(OCTET_WITH_TFLITE STREQUAL ON)
      message(FATAL_ERROR
        "OCTET_WITH_TFLITE: expected FlatBuffers, got none. Hint: apt-get "
        "install libflatbuffers-dev flatbuffers-compiler")
    endif()
  endif()
else()
  message(STATUS
    "OCTET_WITH_ONNX or OCTET_WITH_HDF5 is OFF: only octet::session is built")
endif()
