# Configures the project `subproject` in both forms. BUILD: builds and runs it.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
file(REMOVE_RECURSE ${WORK})
foreach(subdirectory ON OFF)
  run(${CMAKE_COMMAND} -G Ninja -S ${SOURCE}/tests/e2e/subproject
      -B ${WORK}/${subdirectory} -D OCTET_SOURCE=${SOURCE}
      -D SUBDIRECTORY=${subdirectory} -D CMAKE_BUILD_TYPE=Release)
endforeach()
if(BUILD)
  run(${CMAKE_COMMAND} --build ${WORK}/OFF --target cpp_consumer)
  run(${CMAKE_COMMAND} -E chdir ${WORK}/OFF ./cpp_consumer)
endif()
file(REMOVE_RECURSE ${WORK})
