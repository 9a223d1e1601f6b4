# Installs Octet into a new prefix, builds and runs projects with it, and
# uninstalls it.
file(REMOVE_RECURSE ${WORK})
set(flags "")
if(SANITIZE)
  set(flags "-DCMAKE_CXX_FLAGS=-fsanitize=${SANITIZE}"
    "-DCMAKE_C_FLAGS=-fsanitize=${SANITIZE}")
endif()
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
# build_project(FOLDER NAME options...)
function(build_project folder name)
  run(${CMAKE_COMMAND} -G Ninja -S ${folder} -B ${WORK}/${name}
      -D CMAKE_PREFIX_PATH=${WORK}/prefix -D CMAKE_BUILD_TYPE=Release ${flags}
      ${ARGN})
  run(${CMAKE_COMMAND} --build ${WORK}/${name})
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
build_project(${SOURCE}/examples/consumer build)
run(${WORK}/build/consumer)

find_program(pkg_config NAMES pkg-config pkgconf)
if(pkg_config)
  build_project(${SOURCE}/tests/e2e/session_consumer session
    -D C_SOURCE=${SOURCE}/examples/c_session.c)
  run(${CMAKE_COMMAND} -E chdir ${WORK}/session ./cpp_consumer)
  run(${WORK}/session/c_consumer ${WORK}/session/net.octet)
endif()

run(${CMAKE_COMMAND} -D BUILD=${BUILD}
    -P ${SOURCE}/runtime/cmake/OctetUninstall.cmake)
file(GLOB_RECURSE left ${WORK}/prefix/*)
if(left)
  message(FATAL_ERROR "uninstall left ${left}")
endif()
